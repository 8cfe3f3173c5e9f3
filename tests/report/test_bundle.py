"""A writeup as it leaves the house, and whether its check finds what was changed."""

import csv
import json
import random
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
import pytest
import yaml
from benches import rating, write_ratings
from matplotlib.text import Text
from typer.testing import CliRunner, Result

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.figures.theme import PHONE, describe
from axisjudge.report.bundle import check, check_bundle, composing, publish, publishing
from axisjudge.report.bundle.article import RELATED_BLANK
from axisjudge.report.bundle.check import MANIFEST, write_manifest
from axisjudge.report.bundle.citing import SHIPPED, authors_of, citation_cff, read_works, release_of
from axisjudge.report.drawn import SMALLEST, narrow
from axisjudge.report.tables import COLUMN, PAGE, SPREAD, as_latex, latex
from axisjudge.studies.agreement.by_family import DEAL_SEED, DEALS
from axisjudge.trajectory import Step, Trajectory
from axisjudge.workbench import at


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbench with ratings of three judges and a person on 40 runs of ten tasks."""
    home = tmp_path_factory.mktemp("bench")
    for folder in ("rubrics", "notebooks", "data/ratings", "reports"):
        (home / folder).mkdir(parents=True)
    luck = random.Random(5)
    raters = {"rules": "rules", "one": "llm", "two_&_50%": "llm", "Person\x1b[31m": "human"}
    rows = []
    for run in range(40):
        truth = luck.random() < 0.3
        for rater, kind in raters.items():
            wrong = truth != (luck.random() < (0.05 if kind == "human" else 0.25))
            rows.append(
                rating(
                    trajectory_id=f"t{run}",
                    task_id=f"task-{run % 10}",
                    cluster_id=f"task-{run % 10}",
                    rater=rater,
                    rater_kind=kind,
                    family=rater,
                    verdict="incorrect" if wrong else "correct",
                    returned_model="one-2026-01-01" if rater == "one" else None,
                    rationale="a private reason",
                )
            )
    write_ratings(home / "data" / "ratings" / "r.jsonl", rows)
    return home


@pytest.fixture(scope="module", autouse=True)
def without_pictures():
    """Figures and PDF take seconds a bundle; the slow tests draw them."""
    drawn = composing._figures
    with pytest.MonkeyPatch.context() as patch:
        for each in (publishing, check):
            patch.setattr(each, "print_pdf", lambda *_: "not asked for")
        patch.setattr(composing, "_figures", lambda *_, **__: [])
        yield drawn


@pytest.fixture(scope="module")
def made(home: Path) -> Path:
    """A bundle of these ratings, without PDF and figures."""
    with at(home):
        done = publish("study", [str(home / "data/ratings/r.jsonl")], authors=["Ada Example"], home=home)
    assert done.without_pdf == "not asked for"
    assert done.parts[:2] == ("agreement", "people")
    return done.folder


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def test_a_bundle_holds_document_figures_tables_citation_and_hashes(made: Path) -> None:
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {
        "article.md",
        "article.html",
        "article.tex",
        "results.json",
        "CITATION.cff",
        "references.bib",
        MANIFEST,
    } <= files
    assert {"tables/people_claims.csv", "tables/people_claims.tex", "inputs/ratings/r.jsonl"} <= files
    listed = {line.partition("  ")[2] for line in (made / MANIFEST).read_text().splitlines()}
    assert listed == files - {MANIFEST}
    text = (made / "article.md").read_text()
    sections = ["Abstract", "Related work", "Methods", "Results", "Limits", "Data and code availability", "References"]
    assert [text.index(f"## {name}") for name in sections] == sorted(text.index(f"## {name}") for name in sections)
    assert "one-2026-01-01" in text, "returned models stand in the methods"
    assert text.index("Ada Example") < text.index("## Abstract")
    said = json.loads((made / "results.json").read_text())
    assert said["parts"]["agreement"]["answer"] in text.replace("\\", "").replace("&amp;", "&")


def test_nothing_that_a_terminal_or_an_eye_would_obey_is_in_a_document(made: Path) -> None:
    for name in ("article.md", "article.html", "CITATION.cff", "tables/people_judges.csv", "tables/people_judges.tex"):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", (made / name).read_text()), name


def test_the_ratings_of_a_bundle_give_its_numbers_again(bundle: Path) -> None:
    found = check_bundle(bundle)
    assert found.holds
    assert found.n_numbers > 100


def test_a_rating_that_was_changed_is_found_by_what_it_changes(bundle: Path) -> None:
    ratings = bundle / "inputs" / "ratings" / "r.jsonl"
    ratings.write_text(ratings.read_text().replace('"verdict":"incorrect"', '"verdict":"correct"', 1))
    write_manifest(bundle)  # whoever changed it wrote the hashes anew
    found = check_bundle(bundle)
    assert found.files == () or all("computed" in line for line in found.files)
    assert any(each.where.startswith("parts.agreement") for each in found.differences)
    done = CliRunner().invoke(app, ["report", "--check", str(bundle)])
    assert done.exit_code == 1
    assert found.differences[0].where in done.output


def test_rewards_of_the_runs_of_a_bundle_are_checked_as_its_ratings_are(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--trajectories` gives end-task success; with another reward, or a run less, the bundle holds no longer."""
    runs, ratings = tmp_path / "runs.jsonl", str(home / "data/ratings/r.jsonl")
    step = Step(index=0, role="assistant", content="Done.")
    tried = [
        Trajectory(
            id=f"t{run}", source="test", agent="agent-a", task_id=f"task-{run % 10}", reward=run % 2, steps=(step,)
        )
        for run in range(40)
    ]
    runs.write_text("".join(run.model_dump_json() + "\n" for run in tried))
    with at(home):
        folder = publish("runs", [ratings], trajectories=[str(runs)], authors=["Ada Example"], home=home).folder
    assert check_bundle(folder).holds
    kept = folder / "inputs" / "trajectories" / "runs.jsonl"
    whole = kept.read_text()
    kept.write_text(whole.replace('"reward":1.0', '"reward":0.0', 1))
    write_manifest(folder)
    assert any(each.where.startswith("parts.failures") for each in check_bundle(folder).differences)
    kept.write_text(whole.partition("\n")[2])
    found = CliRunner().invoke(app, ["report", "--check", str(folder)])
    assert found.exit_code
    assert "runs.jsonl" in found.output, "whatever the run's absence does to the numbers"


@pytest.mark.parametrize("name", ["results.json", "article.md", "tables/agreement_agreement.tex", "new.txt"])
def test_a_file_that_was_changed_lost_or_added_is_named(bundle: Path, name: str) -> None:
    path = bundle / name
    path.unlink() if name.endswith("tex") else path.write_text(
        path.read_text() + " " if path.exists() else "x", encoding="utf-8"
    )
    found = check_bundle(bundle)
    assert [line for line in found.files if line.startswith(name)]
    assert not found.differences


def abstract_says(text: str) -> str:
    """Another first share in the abstract."""
    head, mark, rest = text.partition("## Abstract")
    return head + mark + re.sub(r"\d+%", "97%", rest, count=1)


def row_says(text: str) -> str:
    rows = list(csv.reader(text.splitlines()))
    rows[1][-1] = "0.99"
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"


def reversed_lists(value: object) -> object:
    if isinstance(value, dict):
        return {key: reversed_lists(item) for key, item in value.items()}
    return [reversed_lists(item) for item in reversed(value)] if isinstance(value, list) else value


#: What to change in which file: of these every one is found, though the manifest was written anew.
TAMPERED = {
    "a number of the abstract": ("article.md", abstract_says),
    "a number of the page": ("article.html", lambda text: re.sub(r"(>[^<]*?)\d\.\d\d", r"\g<1>0.61", text, count=1)),
    "the words of an answer": (
        "article.md",
        lambda text: text.replace("## Abstract\n\n", "## Abstract\n\nNot so: ", 1),
    ),
    "a limit": ("article.md", lambda text: re.sub(r"\n- Judges answer differently[^\n]*", "", text)),
    "a number of one's own": ("article.md", lambda text: text.replace("## Limits", "It is 0.93.\n\n## Limits", 1)),
    "a seed": ("article.md", lambda text: re.sub(r"The seed is \d+", "The seed is 1", text)),
    "the draws": ("article.md", lambda text: text.replace("dealing families to judges 9,999", "dealing them 99,999")),
    "a number of the paper": ("article.tex", lambda text: re.sub(r"0\.\d\d", "0.99", text, count=1)),
    "a number of one's own in the paper": (
        "article.tex",
        lambda text: text.replace(r"\section{Limits}", r"It is 0.93. \section{Limits}"),
    ),
    "a work": ("references.bib", lambda text: text.replace("1960", "1961", 1)),
    "the licence": ("CITATION.cff", lambda text: text + 'license: "MIT"\n'),
    "a table": ("tables/people_judges.csv", row_says),
    "a table for LaTeX": ("tables/people_judges.tex", lambda text: re.sub(r"\d\d\\%", r"11\\%", text, count=1)),
    "the citation": ("CITATION.cff", lambda text: re.sub(r"\d+%", "97%", text, count=1)),
    "a result": ("results.json", lambda text: re.sub(r'("ci_low": )-?[0-9.]+', r"\g<1>0.123", text, count=1)),
    "the order of a list": (
        "results.json",
        lambda text: json.dumps(reversed_lists(json.loads(text))),
    ),
    "the version": ("results.json", lambda text: re.sub(r'"axisjudge": "[^"]+"', '"axisjudge": "99.0"', text)),
    "a setting": ("bundle.json", lambda text: text.replace('"ci_level": 0.95', '"ci_level": 0.8')),
    "limits in a comment": (
        "article.md",
        lambda text: text.replace("## Limits", "<!--\n\n## Limits").replace("## Data and", "-->\n\n## Data and"),
    ),
    "limits that LaTeX passes over": (
        "article.tex",
        lambda text: text.replace(r"\section{Limits}", "\\iffalse\n\\section{Limits}").replace(
            r"\section{Data and", "\\fi\n\\section{Data and"
        ),
    ),
    "a setting that nothing reads": ("bundle.json", lambda text: text.replace("{", '{"kappa": 0.99,', 1)),
    "the versions": ("article.md", lambda text: re.sub(r"numpy [0-9.]+", "numpy 1.0", text)),
}


#: One of each kind of file beside the slow ones.
TRIED_FIRST = (
    "a number of one's own",
    "limits that LaTeX passes over",
    "a table",
    "a result",
    "the order of a list",
    "the version",
    "the words of an answer",
)


@pytest.mark.parametrize(
    "what", [what if what in TRIED_FIRST else pytest.param(what, marks=pytest.mark.slow) for what in TAMPERED]
)
def test_what_a_bundle_says_is_made_again_and_a_manifest_is_no_check(bundle: Path, what: str) -> None:
    name, change = TAMPERED[what]
    before = (bundle / name).read_text()
    (bundle / name).write_text(change(before))
    assert (bundle / name).read_text() != before
    write_manifest(bundle)
    found = check_bundle(bundle)
    assert not found.holds
    assert any(name in line for line in found.files) or found.differences


def test_a_file_that_nothing_makes_or_that_is_gone_is_named(bundle: Path) -> None:
    (bundle / "tables" / "better.csv").write_text("judge,kappa\none,0.99\n")
    (bundle / "summary.html").write_text("kappa is 0.99")
    (bundle / "tables" / "people_judges.csv").unlink()
    write_manifest(bundle)
    nothing = "is made by no part of this bundle"
    gone = "tables/people_judges.csv is missing"
    assert check_bundle(bundle).files == (gone, f"summary.html {nothing}", f"tables/better.csv {nothing}")


def test_a_result_told_twice_is_refused(bundle: Path) -> None:
    results = bundle / "results.json"
    results.write_text(results.read_text().replace('"answer":', '"answer": "All agree.", "answer":', 1))
    with pytest.raises(InputError, match="'answer' stands twice"):
        check_bundle(bundle)


def test_authors_may_write_words_and_their_related_work(bundle: Path) -> None:
    page = bundle / "article.md"
    page.write_text(page.read_text().replace(RELATED_BLANK, "In 2024 others saw 80%.\n\nSo do we."))
    page.write_text(page.read_text().replace("## Limits\n", "## Limits\n\nWe thank nobody by name.\n"))
    paper = bundle / "article.tex"
    paper.write_text(paper.read_text().replace(RELATED_BLANK, r"In 2024 others \cite{cohen1960} saw 80\%."))
    write_manifest(bundle)
    found = check_bundle(bundle)
    assert found.holds, (found.differences, found.files)
    assert len([note for note in found.notes if "author's" in note]) == 3


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("name", ["article.md", "article.tex", "letter.md"])
def test_what_authors_wrote_is_not_published_over(home: Path, bundle: Path, name: str, hashed: bool) -> None:
    page = bundle / name
    blank = page.read_text() if page.exists() else RELATED_BLANK
    page.write_text(blank.replace(RELATED_BLANK, "Others saw the like."))
    if hashed and page.name != "letter.md":
        write_manifest(bundle)
    with at(home), pytest.raises(InputError, match=f"authors wrote; found '{name}"):
        publish(str(bundle), [str(home / "data/ratings/r.jsonl")], home=home)
    assert "Others saw the like." in page.read_text()


@pytest.mark.slow
def test_the_same_ratings_give_the_same_bytes(
    home: Path, monkeypatch: pytest.MonkeyPatch, without_pictures: object
) -> None:
    """Figures in every format among them; no date and no version is in any."""
    monkeypatch.setattr(composing, "_figures", without_pictures)
    manifests = []
    for name in ("drawn", "drawn"):
        with at(home):
            folder = publish(name, [str(home / "data/ratings/r.jsonl")], authors=["Ada Example"], home=home).folder
        manifests.append((folder / MANIFEST).read_text())
    assert manifests[0] == manifests[1]
    for kind in ("png", "svg", "pdf"):
        content = (folder / "figures" / f"agreement_together.{kind}").read_bytes()
        assert not re.search(rb"20[23]\d-\d\d|CreationDate|Matplotlib v|matplotlib \d", content)
    assert check_bundle(folder).holds
    picture = folder / "figures" / "agreement_together.svg"
    picture.write_text(picture.read_text().replace("</svg>", "<desc>0.99</desc></svg>"))
    write_manifest(folder)
    assert check_bundle(folder).files == (f"figures/{picture.name} does not hold what is computed",)


@pytest.mark.filterwarnings("ignore:.*a rating has no field")
def test_a_key_stays_in_no_column_of_a_published_table_whatever_its_type(home: Path, tmp_path: Path) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    table = pl.read_ndjson(home / "data/ratings/r.jsonl", infer_schema_length=None)
    table = table.with_columns(
        rationale=pl.Series(["why", key] * (table.height // 2), dtype=pl.Categorical),
        unused=pl.lit("a", pl.Enum(["a", key])),
        messages=pl.Series([[{"role": "user", "content": [key], "n": 7}]] * table.height),
        packed=pl.Series([key.encode()] * table.height),
    )
    table.write_parquet(tmp_path / "r.parquet", metadata={"told": key})
    table.with_columns(packed=pl.lit(b"\xff")).write_parquet(tmp_path / "p.parquet")

    def published(name: str, table: str) -> Result:
        with at(home):
            return CliRunner().invoke(
                app, ["report", "--publish", str(tmp_path / name), "--from", str(tmp_path / table)]
            )

    told = published("made", "r.parquet")
    assert told.exit_code == 0, told.output
    copy = tmp_path / "made" / "inputs" / "ratings" / "r.parquet"
    clean = pl.read_parquet(copy)
    assert key not in f"{clean.schema}{clean.to_dicts()}{pl.read_parquet_metadata(copy)}"
    assert clean["messages"].to_list()[0][0]["n"] == 7
    assert not any(key.encode() in path.read_bytes() for path in (tmp_path / "made").rglob("*") if path.is_file())
    told = published("other", "p.parquet")
    assert "cannot be searched for keys" in str(told.exception), told.output


def test_what_no_bundle_can_be_made_of_is_said(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not touch")
    ratings = str(home / "data/ratings/r.jsonl")
    with at(home):
        with pytest.raises(InputError, match="something else than a bundle"):
            publish(str(tmp_path / "mine"), [ratings], home=home)
        with pytest.raises(InputError, match="did you mean 'steps'"):
            publish("x", [ratings], settings={"step": "true"}, home=home)
        with pytest.raises(InputError, match="no such file"):
            publish("x", ["nowhere.jsonl"], home=home)
    with pytest.raises(InputError, match="is no bundle"):
        check_bundle(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "do not touch"
    assert not (home / "reports" / "bundles" / "x").exists()


def test_authors_come_from_options_or_the_workbench_and_nobody_is_made_up(tmp_path: Path) -> None:
    assert authors_of(tmp_path, []) == []
    (tmp_path / "pyproject.toml").write_text('[project]\nauthors = [{name = "Family, Given"}, {email = "a@b.example"}]')
    assert authors_of(tmp_path, []) == ["Family, Given"]
    assert authors_of(tmp_path, ["Else Where"]) == ["Else Where"]
    release = {"license": "MIT", "version": "1.2", "date": "2026-11-26"}
    kept = {"title": 'A "title": yes\x00', "authors": ["Family, Given", "Collective"], "release": release}
    said = yaml.safe_load(citation_cff(kept, "x\ny"))
    assert (said["license"], said["version"], str(said["date-released"])) == ("MIT", "1.2", "2026-11-26")
    assert said["authors"] == [{"family-names": "Family", "given-names": "Given"}, {"name": "Collective"}]
    assert said["title"] == 'A "title": yes\\u0000'
    nobody = kept | {"authors": [], "release": {**release, "license": "", "version": ""}}
    assert yaml.safe_load(citation_cff(nobody, "a"))["authors"] == [{"name": "anonymous"}]
    assert "license" not in citation_cff(nobody, "a")


def test_licence_and_version_are_those_of_the_workbench_and_the_day_is_given_or_today(tmp_path: Path) -> None:
    assert release_of(tmp_path, "2026-01-31") == {"license": "", "version": "", "date": "2026-01-31"}
    (tmp_path / "pyproject.toml").write_text('[project]\nlicense = {text = "MIT"}\nversion = "2"')
    assert release_of(tmp_path, "2026-01-31") == {"license": "MIT", "version": "2", "date": "2026-01-31"}
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", release_of(tmp_path)["date"])
    with pytest.raises(InputError, match="must be a day"):
        release_of(tmp_path, "31.1.2026")


def test_bibtex_is_read_as_it_is_written(tmp_path: Path) -> None:
    works = read_works(SHIPPED)
    assert works["cohen1960"].sentence.endswith("37–46. https://doi.org/10.1177/001316446002000104")
    mine = tmp_path / "mine.bib"
    mine.write_text('@comment{no}\n@book{a:b,\n title = "Two {B}ooks", year = 1990, author={A and B},}\n')
    (work,) = read_works(mine).values()
    assert work.sentence == "A; B (1990). Two Books"
    mine.write_text("@book{a, title = {no end")
    with pytest.raises(InputError, match=r"mine.bib, line 1"):
        read_works(mine)


def test_latex_shows_what_it_would_obey() -> None:
    assert latex("[1]*") == "{[}1{]}{*}", "after the end of a row a bracket is its space, and a star keeps the page"
    assert latex("✓ ✗ →").isascii()
    assert latex("50% of a_b & $x^2 {\\input}") == (r"50\% of a\_b \& \$x\textasciicircum{}2 \{\textbackslash{}input\}")


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not installed; on Debian: apt-get install chromium"
)
def test_a_page_is_printed_to_the_end(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>first</p>" + "<p style='break-before: page'>next</p>" * 3)
    assert composing.print_pdf(page, tmp_path / "a.pdf") == ""
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", tmp_path / "a.pdf", "-"], capture_output=True, text=True, check=True).stdout
        assert text.count("next") == 3


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not installed; on Debian: apt-get install chromium"
)
def test_a_pdf_of_another_article_is_found(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "print_pdf", composing.print_pdf)
    page, pdf = bundle / "article.html", bundle / "article.pdf"
    composing.print_pdf(page, pdf)
    write_manifest(bundle)
    assert (held := check_bundle(bundle)).holds
    assert not held.notes
    edited = tmp_path / "edited.html"
    edited.write_text(page.read_text().replace("judges", "fudges"))
    composing.print_pdf(edited, pdf)
    write_manifest(bundle)
    assert check_bundle(bundle).files == ("article.pdf is not the article in print",)
    pdf.write_bytes(pdf.read_bytes().replace(b"/Producer (", b"/Producer (another "))
    write_manifest(bundle)
    assert (other := check_bundle(bundle)).holds
    assert [note for note in other.notes if "article.pdf" in note]


def wide_table(columns: int, rows: int = 12) -> pl.DataFrame:
    """Names as models have them, numbers with intervals, a column that never changes."""
    names = [f"some-maker/Model-{row}.5-Thinking_(medium)" for row in range(rows)]
    numbers = {f"share of kind {at}": [(row + at) / 40 for row in range(rows)] for at in range(columns)}
    return pl.DataFrame({"judge": names, "same": ["as ever"] * rows, **numbers})


def test_a_table_is_no_wider_than_where_it_stands_and_says_once_what_never_changes() -> None:
    for n, columns in ((3, 1), (3, 2), (9, 2), (30, 1), (30, 2)):
        text = as_latex(wide_table(n), "A caption", "x", columns=columns, whole="tables/x.csv")
        widths = [float(width) for width in re.findall(r"p\{([\d.]+)pt\}", text)]
        room = SPREAD if r"\begin{table*}" in text else COLUMN if columns == 2 else PAGE
        assert sum(widths) + 6 * (len(widths) - 1) <= 72.27 * room + 0.5
        assert text.count("as ever") == 1
        assert ("more columns in tables/x.csv" in text) == (n == 30)
    assert r"\begin{table}" in as_latex(wide_table(1), "c", "x", columns=2)
    assert "more rows in tables/x.csv" in as_latex(wide_table(1, rows=200), "c", "x", columns=2, whole="tables/x.csv")


def test_a_heatmap_of_seaborn_is_drawn_for_a_column():
    """Its colorbar stands in a grid with rows of no height, which constrained layout divides by."""
    import seaborn as sns

    ax = sns.heatmap([[0.1, 0.9], [0.4, 0.2]], cmap="Blues", ax=plt.figure().subplots())
    assert narrow(ax.figure, None, "pdf", COLUMN)
    plt.close(ax.figure)


@pytest.mark.parametrize("at", [["one", "two"], [date(2026, 1, 1), date(2026, 1, 2)]])
def test_marks_over_names_and_days_are_drawn_for_a_phone(at):
    ax = plt.figure(figsize=(7, 4)).subplots()
    (line,) = ax.plot(at, [1, 2], "o")
    narrow(ax.figure, None, "png", COLUMN)
    assert not line.get_clip_on()
    plt.close(ax.figure)


@pytest.mark.parametrize(("rooms", "shown"), [((COLUMN,), "7/30"), ((COLUMN, SPREAD), "7/30 (23%), 14% to 36%")])
def test_a_phone_shows_the_shorter_form_of_a_text_that_has_one(rooms, shown):
    ax = plt.figure(figsize=(7, 4)).subplots()
    text = ax.annotate("7/30 (23%), 14% to 36%", (0.5, 0.5), label=f"{PHONE}7/30")
    narrow(ax.figure, None, "png", *rooms)
    assert text.get_text() == shown
    plt.close(ax.figure)


def test_a_figure_of_a_paper_is_as_wide_as_a_column_and_its_text_can_be_read() -> None:
    _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for name in ("one-model-with-a-name", "another-model-with-a-name", "a-third", "a-fourth-model-with-a-name"):
        ax.plot([1, 2], [3, 4], label=name)
    ax.set_xlabel("a long label of what is drawn " * 3, fontsize=4)
    ax.legend(ncols=4, fontsize=5)
    pdf = narrow(ax.figure, "simulated", "pdf", COLUMN, SPREAD)
    (width,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", pdf)
    assert float(width) <= 72 * COLUMN + 1
    texts = [text for text in ax.figure.findobj(match=Text) if text.get_text().strip()]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST


def test_an_axis_of_a_paper_has_no_name_where_the_caption_says_it_in_a_part_of_its_own() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(4, 1.5), layout="constrained")
    axes[0].set_xlabel("tasks")
    axes[1].set_xlabel("tasks are drawn")
    describe(figure, "a line is a model by its tasks; tasks are drawn")
    narrow(figure, None, "svg", SPREAD)
    plt.close(figure)
    assert [ax.get_xlabel() for ax in axes] == ["tasks", ""]


def test_methods_name_intervals_draws_and_seeds_of_the_code_that_ran(
    home: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (made / "article.md").read_text()
    methods = text[text.index("## Methods") : text.index("## Results")]
    said = json.loads((made / "results.json").read_text())
    counted = sum(int(number.replace(",", "")) for number in re.findall(r"\(([\d,]+) intervals?\)", methods))
    assert counted == len(list(composing._methods(said["parts"]))) > 50
    assert str(said["settings"]["seed"]) in methods
    assert f"{DEALS:,}" in methods
    assert str(DEAL_SEED) in methods


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed; on Debian: apt-get install texlive-latex-base"
)
@pytest.mark.parametrize("columns", [1, 2])
def test_the_paper_compiles_alone_whatever_judges_are_called(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_pictures: object, columns: int
) -> None:
    r"""No error, nothing wider than its column, every reference known; names with ``$``, braces and other letters."""
    monkeypatch.setattr(composing, "_figures", without_pictures)
    odd = [r"cost $\\foo$", "$x_1$ {a} ~b^", "100% #1 & <more>", "评委 Ω é"]
    ratings = (home / "data/ratings/r.jsonl").read_text()
    for old, new in zip(("one", "two_&_50%", "rules", "Person\\u001b[31m"), odd, strict=True):
        ratings = ratings.replace(f'"rater":"{old}"', f'"rater":"{new}"')
    (tmp_path / "odd.jsonl").write_text(ratings)
    with at(home):
        folder = publish(str(tmp_path / "paper"), [str(tmp_path / "odd.jsonl")], columns=columns, home=home).folder
    assert check_bundle(folder).holds
    for _ in range(2):
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "article.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:].decode(errors="replace")
    log = (folder / "article.log").read_text(errors="replace")
    assert not re.search(r"Overfull \\hbox \((?!0\.|1\.)", log), re.findall(r"Overfull.*", log)
    assert "undefined" not in log
    assert "Float too large" not in log
