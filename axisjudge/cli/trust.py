"""`axisjudge check|agreement|compare|confidence|profile`: how far judges can be trusted, and what they found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.show import AlikeOption, Cluster, Ratings, Steps, is_one_dataset

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.cluster import Workers
    from axisjudge.ratings.dataset import DatasetPart
    from axisjudge.studies.agreement import PanelAgreement
    from axisjudge.studies.agreement.by_question import AgreementByAxis
    from axisjudge.studies.check import Decision
    from axisjudge.studies.check.compute import Checked
    from axisjudge.studies.failures.panel import PanelPart


# `axisjudge check`: judges against people from one table, without a workbench or a key.

#: Of so many judges the table of counts is printed.
_MOST_COUNTED = 4


@show.app.example("check results.csv --judge gpt --human label --cluster task")
def check(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, JSON, JSON Lines, Parquet, Excel; packed too; - for stdin.")],
    judge: Annotated[list[str], "A judge's column (in a long table its name), repeatable; none: people alone."] = [],
    human: Annotated[list[str], "People's column, or a person's name; repeatable."] = [],
    cluster: Annotated[
        list[str],
        "The column of tasks or queries; `none` for rows on their own. Twice: of tasks, and of days or builds.",
    ] = [],
    confidence: Annotated[list[str], "JUDGE=COLUMN, or COLUMN; in [0, 1]."] = [],
    item: Annotated[list[str], "The column that names items; repeatable: several together."] = [],
    rater: Annotated[str, "Long table: the column of raters."] = "",
    value: Annotated[str, "Long table: the column of what they said."] = "",
    words: Annotated[
        list[str], "The words PASS,FAIL, or all words of a question; RATER:WORD=WORD: what a word stands for."
    ] = [],
    pass_if: Annotated[list[str], "'COLUMN >= 0.5': from where on a score passes."] = [],
    scale: Annotated[str, "nominal, or ordinal (ordinal:LOWEST,...,HIGHEST for words)."] = "",
    positive: Annotated[str, "The word a judge should catch, asked against all others."] = "",
    missing: Annotated[list[str], "A further word that means no verdict; repeatable."] = [],
    where: Annotated[list[str], "COLUMN=WORD: only these rows."] = [],
    sampling: Annotated[
        str, "How labelled rows were drawn: random, by_judge_verdict[=JUDGE], by_human_label, by_key."
    ] = "unknown",
    alike: AlikeOption = "items",
    risk: Annotated[float, "The error a judge may make on what it decides alone."] = 0.1,
    level: Annotated[float, "Level of intervals and of requirements."] = 0.95,
    require: Annotated[list[str], "MEASURE>=NUMBER or JUDGE.MEASURE>=NUMBER, by lower bounds, all together."] = [],
    json: show.Json = False,
    html: Annotated[Path | None, "Write one page that works offline."] = None,
) -> None:
    """How often judges pass what people pass and catch what people fail, by task; what the file supports and what not.

    Take it for one table that holds both, without a workbench. Ratings files with labels of their own: `compare`.
    Judges without people: `agreement`. How sure they say they are: `confidence`. Exit 1 when a requirement is shown to
    fall short, 4 when labels are too few to tell or no item could be compared.
    """
    from csv import reader

    from axisjudge.stats.estimate import EXIT, exit_code
    from axisjudge.studies.check import MEANT, decide
    from axisjudge.studies.check import check as check_table

    pairs = [each.rpartition("=")[::2] for each in confidence]
    if len(dict(pairs)) < len(pairs):
        raise InputError("--confidence", "names a judge twice", ", ".join(confidence))
    lists = [each for each in words if not MEANT.fullmatch(each)]
    if len(lists) > 1:
        raise InputError("--words", "names the question's words once", "; ".join(lists))
    means = {parts[1]: parts[2] for each in words if (parts := MEANT.fullmatch(each))}
    large = table.is_file() and table.stat().st_size > show.LARGE
    if large:
        typer.echo(f"reading {table} ({table.stat().st_size / 1e6:,.0f} MB)", err=True)
    result = check_table(
        table,
        judges=judge,
        human=human,
        cluster=cluster,
        confidence=dict(pairs),
        item=item,
        rater=rater,
        value=value,
        words=next(reader([lists[0]], skipinitialspace=True)) if lists else (),
        means=means,
        pass_if=pass_if,
        positive=positive,
        scale=scale,
        missing=missing,
        where=where,
        sampling=sampling,
        alike=alike,
        risk=risk,
        ci_level=level,
        progress=(lambda text: typer.echo(text, err=True)) if large else None,
    )
    decisions = decide(result.read, require)
    if html is not None:
        from axisjudge.workbench import write_markup

        write_markup(html, result.page())
    if json:
        known = [{**vars(each), "sentence": each.sentence()} for each in decisions]
        show.as_json({**result.to_dict(), "requirements": known})
    else:
        _print_check(result.read, decisions)
        if html is not None:
            typer.echo(f"\nPage: {html}")
    nothing = not result.read.n_compared
    raise typer.Exit(exit_code(decisions) or nothing * EXIT["cannot_tell"])


def _print_check(read: "Checked", decisions: "Sequence[Decision]") -> None:
    from axisjudge.studies.check.sentences import printed, report, verdict_line

    if decisions:
        typer.echo(f"{show.text(verdict_line(decisions, read.terms.ci_level))}\n")
    show.table(read.recognised, "What the columns are taken for", most=12)
    typer.echo()
    for part, lines in report(read).items():
        if part == "supported":
            show.table(printed(read), f"Estimate ({read.terms.ci_level:.0%} interval)")
            for rows in [] if read.votes.question.many_grades else list(read.counts.values())[:_MOST_COUNTED]:
                show.table(rows, "Counts: people down, the judge across")
            if read.judges:
                show.table(read.disagreements, "Where they differ", most=10)
        if lines:
            typer.echo("" if part != "read" else None, nl=part != "read")
        show.lines(lines)
    for each in decisions:
        typer.echo(("\n" if each is decisions[0] else "") + show.text(each.sentence()))


# `axisjudge agreement`: how far raters agree, per axis.


@show.app.example("agreement data/ratings/ratings.jsonl", cls=show.naming("Coefficients", show.coefficients))
def agreement(
    ratings: Ratings,
    steps: Steps = False,
    question: Annotated[list[str], "Only this question."] = [],
    scale: Annotated[str, "Only questions on this scale, as ratings name it."] = "",
    coefficient: Annotated[
        str, "Coefficient of every two judges, named below; by default Cohen's kappa of the scale."
    ] = "",
    weighted: Annotated[bool, "Add the confidence-weighted variants (slow on large tables)."] = False,
    trajectories: Annotated[list[Path], "The runs that were rated: tells how many shared steps are chance."] = [],
    alike: AlikeOption = "items",
    crossed: Annotated[
        str, "What groups items beside their tasks: agent, domain, run_id, created_at (by day); intervals by both."
    ] = "",
    cluster: Cluster = None,
    json: show.Json = False,
) -> None:
    """Agreement of judges per axis, across families, against labels and by confidence; cited steps and repeats.

    Take it where judges stand beside each other; what may be claimed against people says `compare`, and of one table
    of judges and people `check`.
    A dataset (a folder that `axisjudge ratings compact` wrote) is counted part by part and never read whole; single
    items are then left out: disagreements, triage, cited steps, repeats.
    """
    if coefficient:
        one_of("--coefficient", coefficient, show.coefficients())
    name = ", ".join(path.name for path in ratings)
    if is_one_dataset(ratings, cluster):
        whole = {"alike": alike != "items", "crossed": crossed, "weighted": weighted, "trajectories": trajectories}
        for option in (name for name, given in whole.items() if given):
            cure = "leave it out, or name a ratings file that fits into memory"
            raise InputError(f"--{option}", "needs single items", cure=cure)
        _of_dataset(ratings[0], cluster, json, steps=steps, questions=question, scale=scale, coefficient=coefficient)
        return
    import polars as pl

    from axisjudge.ratings.table import newest_ratings
    from axisjudge.sources import sources_of
    from axisjudge.studies._shared.citations import shared_steps
    from axisjudge.studies.agreement import agreement as panel_agreement
    from axisjudge.studies.evidence.repeats import asked_again

    table, by_rubric = newest_ratings(*ratings)
    sources = sources_of(table, name, steps=steps, questions=question, scale=scale)
    runs = show.runs_of(trajectories).trajectories if trajectories else ()
    how: dict[str, Any] = {"coefficient": coefficient, "weighted": weighted, "alike": alike, "crossed": crossed}
    results = [panel_agreement(source, **how) for source in sources]
    citations = shared_steps(by_rubric, runs)
    rated = pl.concat([source.ratings for source in sources])
    repeats = asked_again(rated)
    empty = [{**each.overall.left_out, "empty_runs": of.empty_runs} for of, each in zip(sources, results, strict=True)]
    results = [replace(each, overall=replace(each.overall, left_out=n)) for n, each in zip(empty, results, strict=True)]
    behind = {
        "citations": citations if citations.any_cited else None,
        "repeats": repeats if repeats.any_again else None,
    }
    _print_panels(results, behind, rated, json=json)


def _print_panels(results: "Sequence[PanelAgreement]", behind: dict[str, Any], *rated: Any, json: bool) -> None:
    """Agreement on each scale, what is known `behind` it, and what the ratings may claim."""
    named = {name: part for name, part in behind.items() if part is not None}
    if json:
        parts = behind | {name: part.to_dict() for name, part in named.items()}
        show.as_json({**_by_scale(results), **parts, **show.standing_fields(*rated)})
        return
    for result in results:
        _print_agreement(result)
    for part in named.values():
        show.lines(part.sentences)
    show.standing(*rated)


def _of_dataset(ratings: Path, cluster: str | None, json: bool, **choice: Any) -> None:
    """Agreement in a dataset, by the workers of a cluster where one is named."""
    from axisjudge.cluster import workers_of
    from axisjudge.ratings.dataset import parts_of
    from axisjudge.workbench import home

    with workers_of(cluster) as workers:
        workers.prepare("axisjudge.studies.agreement", "axisjudge.protocol.standing")
        import polars as pl

        from axisjudge.studies.agreement import A_LOOK, agreement_of_dataset

        standing = partial(_standing_rows, home=home())
        parts = workers.map(standing, parts_of(ratings), attrgetter("name"), at_once=A_LOOK)
        rows, n_judged = zip(*parts, strict=True)
        results = agreement_of_dataset(str(ratings), workers=workers, **choice)
    _print_panels(results, {}, pl.concat(rows), sum(n_judged), json=json)


def _standing_rows(part: "DatasetPart", *, home: Path) -> "tuple[pl.DataFrame, int]":
    from axisjudge.protocol.standing import standing_rows
    from axisjudge.workbench import at

    with at(home):  # a worker stands in a folder of its own
        return standing_rows(part.scan())


def _by_scale(results: "Sequence[PanelAgreement]") -> dict[str, Any]:
    """The agreement on the first scale, and under one name that on others, for programs."""
    panels = [{name: value for name, value in each.to_dict().items() if name != "agreement"} for each in results]
    first, *others = ({**each.overall.to_dict(), **panel} for each, panel in zip(results, panels, strict=True))
    return {**first, **({"other_scales": others} if others else {})}


def _print_agreement(result: "PanelAgreement") -> None:
    from axisjudge.studies.agreement.by_family import family_rows

    typer.echo(result.about)
    print_agreement(result.overall)
    if result.families:
        first = result.families[0]
        show.table(
            family_rows(result.families),
            f"{first.label}, within and across families; {first.alpha_label}; each item alike",
        )
        typer.echo()
    show.lines(result.of_panel)


def print_agreement(result: "AgreementByAxis") -> None:
    """The short table of each scale, and below what the figures say in words."""
    for scale, apart in result.by_scale().items():
        rows = [question.brief() for question in apart.questions]
        heads = dict.fromkeys(head for row in rows for head in row)
        title = "Agreement per axis" if scale == "verdict" else f"Agreement per question, scale {scale}"
        first = "axis" if scale == "verdict" else "question"
        levels = {each.ci_level for question in apart.questions for each in question.coefficients.values()}
        title += "".join(f" ({level:.0%} intervals)" for level in levels)
        show.table([{first if head == "question" else head: row.get(head) for head in heads} for row in rows], title)
    show.lines(result.sentences(), apart=True)


# `axisjudge compare|confidence`: judges against people, and how far a judge's confidence can be taken at its word.


@show.app.example("compare ratings.jsonl --labels labels.jsonl")
def compare(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files of judges (JSONL or Parquet).")],
    labels: Annotated[
        list[str],
        "Ratings files of people, or planted truth; reference:FILE takes what tau2 or tau-bench results know.",
    ],
    sampling: Annotated[
        str | None, "How labelled items were drawn, if the labels do not say: random, by_judge_verdict, by_human_label."
    ] = None,
    epsilon: Annotated[float, "How much worse than a person a judge may be, to stand in."] = 0.2,
    by: Annotated[str, "Where may judges be unfair: any of agent, domain, length, answer, by commas."] = "",
    mix: Annotated[list[str], "STRATUM=SHARE of the one --by: carry failure rates to this other mix of runs."] = [],
    trajectories: Annotated[list[Path], "The runs, for --by length and --by answer."] = [],
    steps: Steps = False,
    alike: AlikeOption = "items",
    require: Annotated[list[str], "MEASURE>=NUMBER, or of one judge or question NAME.MEASURE>=NUMBER."] = [],
    json: show.Json = False,
) -> None:
    """What may be claimed of judges against people's labels and what not, then the figures behind it.

    Take it for ratings files and people's labels, also on some of the items; for one table of both see `check`, for
    judges without people `agreement`.
    Exit 1 when a requirement is shown to fall short on a question, 4 when labels are too few to tell.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.sources import PREFIX, read_label_files
    from axisjudge.stats.estimate import exit_code, many
    from axisjudge.studies.located.counts import faults_in
    from axisjudge.studies.located.sentences import faults_in_words
    from axisjudge.studies.people import people
    from axisjudge.studies.people.compared import decide

    shares = _mix(mix)
    labelled = read_label_files(labels)
    table = read_ratings(*ratings, latest=True, lean=True)
    step_level = steps or table["step_index"].null_count() == 0
    judged, left_out = _comparable(table, labelled, step_level)
    located = faults_in(judged, labelled) if any(name.startswith(PREFIX) for name in labels) else []
    result = people(
        judged,
        labelled,
        sampling=sampling,
        epsilon=epsilon,
        by=[name.strip() for name in by.split(",") if name.strip()],
        mix=shares,
        trajectories=show.runs_of(trajectories).trajectories if trajectories else None,
        alike=alike,
        n_draws=0,
        step_level=step_level,
    )
    decisions = decide(result.claims.comparison, require)
    if json:
        known = [{**vars(each), "sentence": each.sentence()} for each in decisions]
        asked = {"requirements": known} if require else {}
        faults = {"located_faults": [one.to_dict() for one in located]} if located else {}
        rest = {"left_out": left_out, **faults, **show.standing_fields(judged), **asked}
        show.as_json({**result.to_dict(), **rest})
        raise typer.Exit(exit_code(decisions))
    show.lines(result.to_dict()["sentences"])
    show.lines(f"Left out: {many(n, 'rating')} {_LEFT_OUT[why]}." for why, n in left_out.items())
    if located:
        show.table(faults_in_words(located), "Located faults, and what judges find of them (at their step: within one)")
    tables = result.tables()
    known_by_task = all(name.startswith(PREFIX) for name in labels)
    for name, title in (_TITLES | (_OF_REFERENCE if known_by_task else {})).items():
        if rows := plain(tables[name]):
            by_items = alike == "clusters" and name in _OF_ITEMS
            show.table(rows, f"{title}, each item alike" if by_items else title)
    if result.fairness.questions:
        show.lines([result.fairness.answer], apart=True)
        show.table(plain(tables["unfair"])[:_MOST_ROWS], "Differences between strata")
        show.table(plain(tables["strata_rates"])[:_MOST_ROWS], "Failure rates by strata")
        show.table(plain(tables["carried"]), "Carried to the stated mix")
    show.standing(judged)
    if decisions:
        show.lines([each.sentence() for each in decisions], apart=True)
    raise typer.Exit(exit_code(decisions))


def _comparable(
    table: "pl.DataFrame", labelled: "pl.DataFrame", step_level: bool
) -> "tuple[pl.DataFrame, dict[str, int]]":
    """The ratings that can be set against labels, and how many of the others there are, by what they are."""
    import polars as pl

    from axisjudge.labels.panel import BY_PEOPLE
    from axisjudge.ratings.edge import EMPTY_RUN, taken
    from axisjudge.ratings.scales import has_words
    from axisjudge.sources import MOST_WORDS

    asked = table.group_by("question", "scale").agg(pl.col("verdict").n_unique()).rows()
    worded = [question for question, scale, n in asked if has_words(scale) and n <= MOST_WORDS]
    known = labelled.select("item_id", "question", "rater").unique()
    strays = table.filter(BY_PEOPLE).join(known, on=known.columns, how="anti")
    table, left_out = table.join(strays, on=known.columns, how="anti"), {"by_people": strays.height}
    for what, kept in {
        "other_level": pl.col("step_index").is_not_null() == step_level,
        "empty_runs": ~EMPTY_RUN,
        "repeats": pl.col("repeat") == 0,
        "no_words": pl.col("question").is_in(worded),
    }.items():
        n_before = table.height
        table = taken(table, kept)
        left_out[what] = n_before - table.height
    return table, {what: n for what, n in left_out.items() if n}


#: What `_comparable` leaves out, and how it can be had.
_LEFT_OUT = {
    "other_level": "of the other level (--steps takes those of steps)",
    "by_people": "by people, who stand among the judges (name their file with --labels)",
    "empty_runs": "of runs without messages, rated by definition and not judged",
    "repeats": "of other repeats; one repeat is compared at a time",
    "no_words": "of questions answered in numbers or texts (agreement has the numbers)",
}


def _mix(stated: list[str]) -> dict[str, float]:
    """Shares by stratum."""
    form, cure = "STRATUM=SHARE", "as --by domain --mix retail=.8 --mix airline=.2"
    given = show.pairs("--mix", stated, form, at_last=True, cure=cure)
    try:
        return {name.strip(): float(share) for name, share in given.items()}
    except ValueError:
        raise InputError("--mix", f"is written {form}", ", ".join(stated), cure) from None


#: Rows of the longest tables that are printed; all of them are in --json.
_MOST_ROWS = 24
_TITLES = {
    "claims": "Claims",
    "judges": "Against the majority of people",
    "left_out": "Judge and person against the other people",
    "stand_in": "Alternative annotator test",
    "rates": "Failure rates, corrected by the labels",
    "differences": "Corrected failure rates, one agent less another, in points",
    "steps": "Cited steps against people's",
    "confusion": "What people say and what judges say",
}
#: What is of items, whatever counts alike.
_OF_ITEMS = ("stand_in", "rates", "differences", "steps")
#: Headings where no person labelled: what the benchmark knows of its tasks did.
_OF_REFERENCE = {
    "judges": "Against the reference",
    "steps": "Cited steps against the reference's",
    "confusion": 'What the reference says (column "people say") and what judges say',
}


@show.app.example("confidence ratings.jsonl --labels data/demo/planted.jsonl")
def confidence(
    ratings: Ratings, labels: Annotated[list[Path], "Ratings of people, or planted truth."], json: show.Json = False
) -> None:
    """Calibration of confidences against labels, each judge and source of confidence apart.

    Take it to learn whether a judge that says .9 is right in nine of ten; how often it is right at all says `compare`.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies._shared.words import in_cell
    from axisjudge.studies.confidence import confidence as against_labels

    judged = read_ratings(*ratings, latest=True)
    result = against_labels(judged, read_ratings(*labels, latest=True))
    if json:
        show.as_json({**plain(result.calibration), **show.standing_fields(judged)})
        return
    short = ("judge", "source", "n", "accuracy", "confidence", "miscalibration", "discrimination", "ece", "auroc")
    cells = ({**judge.row(), "accuracy": in_cell(judge.right), "auroc": in_cell(judge.auc)} for judge in result.judges)
    level = "".join(f" ({each.right.ci_level:.0%} intervals)" for each in result.judges[:1])
    show.table([{name: row[name] for name in short} for row in cells], f"Confidence against labels{level}")
    show.lines(result.sentences, apart=True)
    show.standing(judged)


# `axisjudge profile`: which capability broke.


@show.app.example("profile ratings.jsonl --trajectories data/demo/results")
def profile(
    ratings: Ratings,
    trajectories: Annotated[list[Path], "Trajectories to take rewards from."] = [],
    cluster: Cluster = None,
    json: show.Json = False,
) -> None:
    """Failed runs per agent and axis, by any judge and by consensus, with intervals and what is undecided.

    A dataset (a folder that `axisjudge ratings compact` wrote) is read part by part and never whole.
    """
    from axisjudge.cluster import workers_of

    runs = show.runs_of(trajectories).trajectories if trajectories else ()
    with workers_of(cluster) as workers:
        workers.prepare("axisjudge.studies.failures.panel", "axisjudge.protocol.standing")
        import polars as pl

        from axisjudge.results import plain
        from axisjudge.studies._shared.words import other_repeats
        from axisjudge.studies.failures.panel import panel_of_votes
        from axisjudge.studies.failures.profile import failure_profile, reward_table
        from axisjudge.studies.failures.sentences import false_failures, sample

        looks = [*_looks(ratings, workers, cluster)]
    panel = panel_of_votes(look.votes for look in looks)
    failures = failure_profile(panel, reward_table(runs))
    table, n_judged = pl.concat([look.standing for look in looks]), sum(look.n_judged for look in looks)
    if json:
        show.as_json({**failures.to_dict(), **show.standing_fields(table, n_judged)})
        return
    if failures.banner:
        typer.echo(failures.banner)
    show.table([_profile_row(row) for row in plain(failures.table)], "Failed runs per agent and axis")
    answers = (failures.answer, failures.by("consensus").answer, false_failures(len(panel.judges)))
    show.lines((sample(panel), *answers, *other_repeats(panel.repeats_left_out)), apart=True)
    show.standing(table, n_judged)


class _Look(NamedTuple):
    """What is made of a part: its verdicts, ratings that the protocol tells of, and how many are by judges."""

    votes: "PanelPart"
    standing: "pl.DataFrame"
    n_judged: int
    n_older: int = 0


def _looks(ratings: list[Path], workers: "Workers", cluster: str | None) -> Iterator[_Look]:
    from axisjudge.ratings.dataset import parts_of
    from axisjudge.ratings.table import ratings_in_parts, warn_of_older
    from axisjudge.workbench import home

    if not is_one_dataset(ratings, cluster):
        yield from map(_look, ratings_in_parts(*ratings, lean=True))
        return
    n_older = 0
    for look in workers.map(partial(_look_at_part, home=home()), parts_of(ratings[0]), attrgetter("name")):
        n_older += look.n_older
        yield look
    warn_of_older(ratings, n_older)


def _look_at_part(part: "DatasetPart", *, home: Path) -> _Look:
    from axisjudge.ratings.table import ratings_of_part
    from axisjudge.workbench import at

    table, n_older = ratings_of_part(part)
    with at(home):  # a worker stands in a folder of its own
        return _look(table)._replace(n_older=n_older)


def _look(table: "pl.DataFrame") -> _Look:
    from axisjudge.protocol.standing import standing_rows
    from axisjudge.studies.failures.panel import votes_of

    return _Look(votes_of(table), *standing_rows(table.lazy()))


def _profile_row(row: dict[str, Any]) -> dict[str, Any]:
    undecided = ("uncertain", "lost", "not_rated")
    return {
        "agent": row["agent"],
        "axis": row["axis"],
        "any judge": _counted_share(row, "any"),
        "consensus": _counted_share(row, "consensus"),
        "n/a": row["not_applicable"],
        **{word.replace("_", " "): row[word] for word in undecided},
    }


def _counted_share(row: dict[str, Any], measure: str) -> str:
    low, high = row[f"{measure}_low"], row[f"{measure}_high"]
    counts = f"{row[f'{measure}_incorrect']}/{row[f'{measure}_judged']}"
    return counts if low is None or low != low else f"{counts} ({low:.0%} to {high:.0%})"
