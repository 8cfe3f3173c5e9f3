"""Data that hold too little give a page that says what cannot be said: no error, no nan, no empty axes, an answer."""

import html
import json
import re
from functools import cache
from pathlib import Path

import nbformat
import polars as pl
import pytest

from axisjudge.checks import InputError, TooLittle
from axisjudge.datasets import demo_paths, demo_run_labels, demo_runs
from axisjudge.ratings.table import write_ratings
from axisjudge.report import Page
from axisjudge.report import page as pages
from axisjudge.report.kernel import answer_why
from axisjudge.report.paper import sentences_of
from axisjudge.sources import load_source
from axisjudge.studies.curves import load_scores
from axisjudge.workbench import at, home

ONE, LABELLED = "simulated:heron", pl.col("rater_kind") == "planted"

#: What each page must not do without saying so, by notebook, data and a word of its answer.
CASES = [
    ("01", {"judges": ["simulated:jackdaw"]}, "two judges"),
    ("01", {"trajectories": "@one.json"}, "stands on this side"),
    ("01", {"trajectories": "@three.json"}, "Too few items to tell"),
    ("02", {"ratings": "@one_judge"}, "it takes two"),
    ("02", {"ratings": "@three"}, "cannot be told"),
    ("02", {"ratings": "@lost"}, "no item has comparable verdicts"),
    ("03", {"ratings": "@all"}, "must be of people"),
    ("03", {"ratings": "@all", "labels": "@labels_lost"}, "must be of people"),
    ("03", {"ratings": "@lost", "labels": "@labels"}, "none has a kappa"),
    ("03", {"ratings": "@three", "labels": "@labels"}, "takes a side (1 to 15 of 15)"),
    ("03", {"ratings": "@one_judge", "labels": "@labels"}, "always saying the commonest word"),
    ("04", {"source": "@one_task.csv"}, "1 task"),
    ("04", {"source": "@same.csv"}, "fewer than three different values"),
    ("04", {"source": "@no_people.csv"}, "no row has"),
    ("05", {"ratings": "@one_judge"}, "1 judge"),
    ("05", {"ratings": "@three"}, "not ranked"),
    ("05", {"ratings": "@lost"}, "no verdict was decided"),
    ("05", {"ratings": "@twenty"}, "20 judges"),
    ("06", {"ratings": "@one_judge"}, "nobody to agree with"),
    ("06", {"ratings": "@lost"}, "no judge gave a verdict"),
    ("08", {"runs": "@three_runs.jsonl", "labels": "@run_labels_lost"}, "labels given say nothing"),
    ("08", {"trajectories": "@unrewarded.json"}, "AUC"),
    ("09", {"pilot": "@one_judge"}, "ll is assumed"),
    ("09", {"pilot": "@three"}, "ll is assumed"),
    ("09", {"pilot": "@lost"}, "ll is assumed"),
    ("10", {"ratings": "@three"}, "may not take the place"),
    ("10", {"ratings": "@lost"}, "on no anchor did both decide"),
    ("11", {"trajectories": "@one.json"}, "of other kinds nothing is said"),
    ("13", {"ratings": "@all"}, "no item has a label"),
    ("13", {"ratings": "@one_judge", "labels": "@labels"}, "No panel is shown to be better"),
    ("13", {"ratings": "@lost"}, "all were lost"),
    ("14", {"trajectories": "@unrewarded.json"}, "no failed run"),
    ("14", {"trajectories": "@all.json", "ratings": "@lost"}, "must hold verdicts"),
    ("14", {"trajectories": "@three.json"}, "in cycleshop"),
]


def lost(table: pl.DataFrame) -> pl.DataFrame:
    empty = {name: pl.lit(None, table.schema[name]) for name in ("verdict", "value", "confidence")}
    return table.with_columns(status=pl.lit("api_error"), **empty)


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's data cut down, one file a way of being too little."""
    folder = tmp_path_factory.mktemp("little")
    table = load_source("demo").ratings
    judged = table.filter(~LABELLED)
    labels = table.filter(LABELLED).with_columns(rater_kind=pl.lit("human"), rater=pl.lit("person"))
    items = judged["item_id"].unique(maintain_order=True)
    ratings = {
        "all": judged,
        "labels": labels,
        "labels_lost": lost(labels),
        "lost": lost(judged),
        "one_judge": judged.filter(pl.col("rater") == ONE),
        "twenty": pl.concat(
            judged.filter(pl.col("rater") == ONE).with_columns(rater=pl.lit(f"simulated:{number:02d}".ljust(80, "x")))
            for number in range(20)
        ),
        "three": judged.filter(pl.col("item_id").is_in(items.head(3).implode())),
        "run_labels_lost": lost(pl.read_ndjson(demo_run_labels(), schema=table.schema)),
    }
    for name, rows in ratings.items():
        write_ratings(rows, folder / f"{name}.jsonl")
    (folder / "three_runs.jsonl").write_text(
        "\n".join(demo_runs().read_text(encoding="utf-8").splitlines()[:3]) + "\n", encoding="utf-8"
    )
    scores = load_scores("planted", seed=1).scores
    scores.filter(pl.col("task") == scores["task"][0]).write_csv(folder / "one_task.csv")
    scores.with_columns(raw=pl.lit(0.5)).write_csv(folder / "same.csv")
    scores.with_columns(human=pl.lit(None, pl.Float64)).write_csv(folder / "no_people.csv")
    results = json.loads(demo_paths()[1].read_text(encoding="utf-8"))
    runs = results["simulations"]
    unrewarded = [{**run, "reward_info": None} for run in runs]
    for name, kept in {"all": runs, "one": runs[:1], "three": runs[:3], "unrewarded": unrewarded}.items():
        (folder / f"{name}.json").write_text(json.dumps({**results, "simulations": kept}), encoding="utf-8")
    return folder


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a page shows, as its report's text."""
    parts: list[str] = []
    monkeypatch.setattr(pages, "_show", lambda bundle, *_: parts.append(as_text(bundle)))
    return parts


def as_text(bundle: dict[str, str]) -> str:
    """The markdown of an output; of a part, which a notebook shows as one output, the words of its HTML."""
    if pages.MARKDOWN_MIME in bundle:
        return bundle[pages.MARKDOWN_MIME]
    return html.unescape(re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", bundle["text/html"], flags=re.DOTALL))


def path_of(folder: Path, value: object) -> object:
    """The file that ``@name`` stands for; all other values as they are."""
    if not (isinstance(value, str) and value.startswith("@")):
        return value
    return str(folder / (value[1:] if "." in value else f"{value[1:]}.jsonl"))


def run(number: str, given: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> Page:
    """The cells of a notebook in this process, and what a report makes of data that end them."""
    [path] = (home() / "notebooks").glob(f"{number}_*.ipynb")
    first, *rest = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    names: dict[str, object] = {}
    exec(first.source, names)
    assert set(given) <= set(names)
    names |= given
    try:
        for cell in rest:
            exec(cell.source, names)
    except TooLittle as error:
        monkeypatch.setattr("sys.last_value", error, raising=False)
        names.setdefault("page", Page(path.stem, load_source("demo").ratings))
        answer_why(names, path.stem)
    page = names["page"]
    assert isinstance(page, Page)
    return page


@pytest.mark.slow
@pytest.mark.parametrize(("number", "given", "answer"), CASES)
def test_the_page_says_what_cannot_be_said(
    number: str,
    given: dict[str, object],
    answer: str,
    little: Path,
    shown: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with at(home()):  # page 01 goes into a rehearsal
        page = run(number, {name: path_of(little, value) for name, value in given.items()}, monkeypatch)
    text = "\n".join(shown)
    assert answer in page.answer_text
    assert 1 <= len(sentences_of(page.answer_text)) <= 3
    assert not (raw := re.search(r"\b(nan|inf)\b", text)), text[max(0, raw.start() - 300) : raw.end() + 80]
    assert not re.search(r"\b1 (tasks|items|runs|judges|people|agents|axes|labels)\b", text)


@cache
def odd_sets() -> dict[str, pl.DataFrame]:
    """Ratings that are whole but odd, labels among them as a person's; of each a small part of the demo's."""
    table = load_source("demo").ratings
    table = table.filter(pl.col("task_id").is_in(table["task_id"].unique().sort().head(10).implode()))
    table = table.with_columns(
        rater_kind=pl.when(LABELLED).then(pl.lit("human")).otherwise(pl.col("rater_kind")),
        rater=pl.when(LABELLED).then(pl.lit("person")).otherwise(pl.col("rater")),
    )
    judged, people = table.filter(pl.col("rater") != "person"), table.filter(pl.col("rater") == "person")
    one = judged.filter(pl.col("rater") == ONE)
    word, first = pl.col("verdict"), table["rater"] == ONE

    def renamed(name: str) -> pl.DataFrame:
        return table.with_columns(rater=pl.when(first).then(pl.lit(name)).otherwise(pl.col("rater")))

    def saying(which: pl.Expr, verdict: str) -> pl.DataFrame:
        return table.with_columns(verdict=pl.when(which).then(pl.lit(verdict)).otherwise(word))

    opposite = pl.when(word == "correct").then(pl.lit("incorrect")).otherwise(pl.lit("correct"))
    of_judges, items = pl.col("rater") != "person", table["item_id"].unique(maintain_order=True)
    many = [one.with_columns(rater=pl.lit(f"judge-{number}"), family=pl.lit(f"f{number % 7}")) for number in range(40)]
    return {
        "two items": table.filter(pl.col("item_id").is_in(items.head(2).implode())),
        "one item of one judge": one.head(1),
        "one judge and a person": pl.concat([one, people]),
        "one task": table.filter(pl.col("task_id") == table["task_id"][0]),
        "all correct": saying(pl.lit(True), "correct"),
        "all incorrect": saying(pl.lit(True), "incorrect"),
        "all uncertain": saying(of_judges, "uncertain"),
        "nothing applies": saying(of_judges, "not_applicable"),
        "one judge says one word": saying(pl.col("rater") == ONE, "incorrect"),
        "a word is lacking": table.filter((word != "incorrect") | ~of_judges),
        "judges that contradict each other": pl.concat(
            [one, one.with_columns(verdict=opposite, rater=pl.lit("other")), people]
        ),
        "judges that are one": pl.concat([one, one.with_columns(rater=pl.lit("other")), people]),
        "forty judges": pl.concat([*many, people]),
        "no confidences": table.with_columns(confidence=pl.lit(None, pl.Float64)),
        "all sure": table.with_columns(confidence=pl.when(of_judges).then(1.0)),
        "no agents, no tasks": table.with_columns(agent=pl.lit(None, pl.String), task_id=pl.lit(None, pl.String)),
        "one axis": table.filter(pl.col("question") == "sequencing"),
        "half lost": pl.concat([lost(table.gather_every(2)), table.gather_every(2, 1)]),
        "dollars": renamed(r"cost $\foo$ and $x_1$"),
        "markup": renamed("<b>bold</b> & [link](http://a.example) | `code`"),
        "other scripts": renamed("评委 \u0645\u062d\u0643\u0645 🎯"),
        "a long name": renamed("long-" * 40),
    }


#: Known without the data, which take time to read.
ODD = (
    "two items",
    "one item of one judge",
    "one judge and a person",
    "one task",
    "all correct",
    "all incorrect",
    "all uncertain",
    "nothing applies",
    "one judge says one word",
    "a word is lacking",
    "judges that contradict each other",
    "judges that are one",
    "forty judges",
    "no confidences",
    "all sure",
    "no agents, no tasks",
    "one axis",
    "half lost",
    "dollars",
    "markup",
    "other scripts",
    "a long name",
)
#: Pages that read ratings, with the parameters that take labels beside.
ODD_PAGES = ("02", "03", "05", "06", "13")
#: What no page says of any data: figures without a value, nouns that do not agree, contradictions.
NONSENSE = {
    "a figure without a value": r"\b(nan|inf|NaN|None(?! of))\b",
    "a noun that does not agree": r"\b1 (tasks|items|runs|judges|people|agents|axes|labels|points)\b",
    "no difference as a difference": r"(?<![\d.])0(\.0+)? points? (off|more|less|higher|lower)\b",
    "a refusal beside an interval": r"alpha[^.;]*cannot[^.;]*\(\d\.\d+ to",
    "a weighted panel of one": r"On tasks left out \(.*?\) the panel weighted by labels \(.*?\) is right.*\(1 judge\)",
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ODD_PAGES)
@pytest.mark.parametrize("name", ODD)
def test_no_page_talks_nonsense_of_odd_data(
    name: str, number: str, tmp_path: Path, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuple(odd_sets()) == ODD
    table = odd_sets()[name]
    people = table.filter(pl.col("rater") == "person")
    write_ratings(table.filter(pl.col("rater") != "person"), tmp_path / "ratings.jsonl")
    given = {"ratings": str(tmp_path / "ratings.jsonl")}
    if number in ("03", "13") and people.height:
        write_ratings(people, tmp_path / "labels.jsonl")
        given["labels"] = str(tmp_path / "labels.jsonl")
    monkeypatch.setattr("matplotlib.pyplot.show", lambda *_, **__: None)
    with at(home()):
        try:
            page = run(number, given, monkeypatch)
        except InputError:
            return  # a refusal, in one line
    text = "\n".join(shown)
    assert page.answer_text
    for what, pattern in NONSENSE.items():
        assert not (found := re.search(pattern, text)), (
            f"{what}: {text[max(0, found.start() - 200) : found.end() + 80]}"
        )
    for n, worth in re.findall(r"(\d+) (?:judges )?are worth (\d+\.\d+)", text):
        assert float(worth) <= int(n), "judges are worth no more than their number"
