"""`axisjudge rubric`: what judges are told, how it changed, and its lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.show import Panel, pairs

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.studies.agreement.by_question import QuestionAgreement

app = show.app.group("rubric", "Rubrics: what judges are told, how it changed, and its lock.")


@app.example("list")
def list_(json: show.Json = False) -> None:
    """All rubrics: axis, version, status, length and what changed."""
    from axisjudge.rubric import list_rubrics
    from axisjudge.verdict import AXES

    rubrics = [rubric for axis in AXES for rubric in list_rubrics(axis)]
    if json:
        fields = [{**rubric.model_dump(mode="json"), "sha256": rubric.sha256} for rubric in rubrics]
        show.as_json({"rubrics": fields})
        return
    heads = ("axis", "version", "status", "date", "tokens", "sha256", "changes")
    rows = [{name: getattr(rubric, name) for name in heads} for rubric in rubrics]
    show.table([{**row, "date": str(row["date"]), "sha256": row["sha256"][:12]} for row in rows])


@app.example("show argument_validity v2")
def show_(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[str | None, typer.Argument(help="A version such as v2; the current one if none.")] = None,
) -> None:
    """The text that judges are shown."""
    from axisjudge.rubric import load_rubric

    typer.echo(load_rubric(axis, version).text, nl=False)


@app.example("new argument_validity --from v3")
def new(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    from_: Annotated[str | None, typer.Option("--from", help="The version it begins with [default: current]")] = None,
    changes: Annotated[str, "What will be changed, in one sentence."] = "",
    json: show.Json = False,
) -> None:
    """Begin the next version as a draft with the text of another; nothing is opened or judged."""
    from axisjudge.rubric.axes import read_rubric
    from axisjudge.rubric.next_version import begin_version
    from axisjudge.workbench import home

    path = begin_version(axis, from_, changes=changes)
    draft, relative = read_rubric(path), path.relative_to(home()).as_posix()
    if json:
        show.as_json({"path": relative, **draft.model_dump(mode="json", exclude={"text"})})
        return
    typer.echo(f"{relative}: a draft of {axis} {draft.version}.")
    typer.echo(f"Next: edit it, say what changed in its front matter, then axisjudge rubric lint {axis}")


@app.example("promote argument_validity v5")
def promote(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[
        str, typer.Argument(help="The draft, such as v5; or the id of a candidate that `rubric improve` wrote.")
    ],
    json: show.Json = False,
) -> None:
    """Make a draft the current rubric of its axis; the one that was current is superseded.

    A candidate of a search becomes the next version; its file, `rubric log` and the lock say that a person chose it.
    """
    from axisjudge.rubric.axes import read_rubric
    from axisjudge.rubric.next_version import promote_version
    from axisjudge.workbench import home

    path, before = promote_version(axis, version)
    relative, draft = path.relative_to(home()).as_posix(), read_rubric(path).chosen_draft
    if json:
        now = {"current": path.stem, "superseded": before, "chosen_draft": draft}
        show.as_json({"path": relative, "axis": axis, **now})
        return
    typer.echo(f"{relative}: {axis} {path.stem} is current{f', {before} superseded' if before else ''}.")
    _say_chosen(axis, path.stem, draft)
    typer.echo(f"Next: axisjudge rubric lint {axis}, then axisjudge rubric lock")


def _say_chosen(axis: str, version: str, draft: str | None) -> None:
    if draft:
        typer.echo(f"{axis} {version}, draft {draft}: chosen by a person; the search did not show it better.")


@app.example("lint argument_validity --superseded")
def lint(
    axes: Annotated[list[str] | None, typer.Argument(help="Axes; all five if none.")] = None,
    superseded: Annotated[bool, "Superseded versions as well."] = False,
    json: show.Json = False,
) -> None:
    """Copies, names, missing sections, a peer's questions, outcome words, examples without verdict, silent changes."""
    from axisjudge.protocol.lock import locked_rubrics
    from axisjudge.rubric.lint import lint_rubrics

    findings = lint_rubrics(axes or (), superseded=superseded, locked=locked_rubrics())
    if json:
        show.as_json({"findings": [asdict(finding) for finding in findings]})
    else:
        rows = [{"place": f"{each.file}:{each.line}", **asdict(each)} for each in findings]
        show.table([{name: row[name] for name in ("place", "rule", "found", "cure")} for row in rows], "Findings")
    if findings:
        raise typer.Exit(1)


@app.example("diff argument_validity v2 v3 --ratings ratings.jsonl")
def diff(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    before: Annotated[str, typer.Argument(help="The older version.")],
    after: Annotated[str, typer.Argument(help="The newer version.")],
    ratings: Annotated[list[Path] | None, "A ratings file."] = None,
    json: show.Json = False,
) -> None:
    """What changed in the text; with ratings also which verdicts changed, rater by rater."""
    import polars as pl

    from axisjudge.protocol.ledger import rubric_diff
    from axisjudge.ratings import read_ratings

    table = read_ratings(*ratings) if ratings else None
    changes = rubric_diff(axis, before, after, table)
    claim = {} if table is None else show.standing_fields(table)
    if json:
        verdicts = None if changes.verdicts is None else changes.verdicts.to_dicts()
        show.as_json(
            {"axis": axis, "before": before, "after": after, "text": changes.text, "verdicts": verdicts, **claim}
        )
        return
    typer.echo(changes.text or f"The prose of {before} and {after} is the same.")
    if table is None or changes.verdicts is None or changes.changed is None:
        return
    typer.echo(f"\nVerdicts: {changes.changed.height} of {changes.verdicts.height} changed from {before} to {after}")
    counts = changes.verdicts.group_by("rater", "before", "after").agg(n=pl.len()).sort("rater", "before", "after")
    show.table(counts.to_dicts(), "Before and after, by rater")
    show.table(changes.changed.drop("repeat", "cluster_id").to_dicts(), "Changed")
    show.standing(table)


# `axisjudge rubric compare`: did the new versions of some rubrics make the judges agree?


@app.example("compare ratings.jsonl --change argument_validity=v2:v3")
def compare(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files that hold both versions of each axis.")],
    change: Annotated[list[str], "An axis and its two versions, as axis=v2:v3; one for each axis."],
    looking: Annotated[bool, "Intervals that hold however often you look while tasks come in."] = False,
    json: show.Json = False,
) -> None:
    """Compare two versions of a rubric, or of several, on the calibration side: one family of tests, by Holm.

    Exit 4 where models judged two versions at different times and the noise of occasions was not measured.
    """
    from axisjudge.protocol import find_split
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.rubric_versions import rubric_versions
    from axisjudge.studies.rubric_versions.versions import HELD_OUT

    split = find_split()
    held_out = split.held_out if split else HELD_OUT
    if looking:
        _looked(read_ratings(*ratings), _changes(change), held_out, json=json)
        return
    result = rubric_versions(read_ratings(*ratings), _changes(change), held_out=held_out)
    code = 4 if any(turn.pair.apart for turn in result.turns) else 0
    if json:
        show.as_json({"family": [turn.axis for turn in result.turns], "turns": result.turns})
        raise typer.Exit(code)
    if result.banner:
        typer.echo(result.banner)
    title = f"Change of agreement, task by task; Holm over {len(result.turns)} axes"
    show.table(plain(result.table), title)
    for turn in result.turns:
        typer.echo(f"\n{turn.headline}")
        for sentence in turn.details:
            typer.echo(f"  {sentence}")
    raise typer.Exit(code)


def _looked(ratings: pl.DataFrame, changes: dict[str, tuple[str, str]], held_out: Sequence[str], *, json: bool) -> None:
    from axisjudge.studies._shared.frames import banner, made_up_raters
    from axisjudge.studies.rubric_versions import looked_change, looked_sentences
    from axisjudge.studies.rubric_versions.versions import read_versions

    pairs_read = [read_versions(ratings, axis, *both, held_out=held_out) for axis, both in changes.items()]
    level = 1 - 0.05 / len(pairs_read)
    looks = [looked_change(*pair, ci_level=level) for pair in pairs_read]
    sentences, rows = looked_sentences(looks), [look.named_values() for look in looks]
    if json:
        show.as_json({"looks": rows, "sentences": sentences})
        return
    if made_up := made_up_raters(ratings):
        typer.echo(banner(made_up))
    show.table(rows, f"Change of agreement, {level:.1%} at every look")
    show.lines(sentences)


def _changes(given: list[str]) -> dict[str, tuple[str, str]]:
    from axisjudge.verdict import AXES

    form, cure = "axis=before:after", "for example argument_validity=v2:v3"
    changes: dict[str, tuple[str, str]] = {}
    for axis, versions in pairs("--change", given, form, cure=cure).items():
        before, _, after = versions.partition(":")
        if not before or not after:
            raise InputError("--change", f"is written {form}", versions, cure)
        changes[one_of("--change", axis, AXES)] = before, after
    return changes


# `axisjudge rubric improve`: a model writes edits, the data decide.


@app.example("improve termination --judge openai:gpt-5 --proposer openai:gpt-6.1-sol --labels labels.jsonl --budget 20")
def improve(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    proposer: Annotated[str, "The judge spec of the model that writes edits."],
    judge: show.Judges = [],
    labels: Annotated[list[str], "People's labels of the runs; repeatable."] = [],
    target: Annotated[str, "What is to rise: agreement with labels, agreement of judges, or reference."] = "labels",
    trajectories: Annotated[
        list[Path], "The runs: files, folders, globs [default: data/trajectories, else the demo]"
    ] = [],
    version: Annotated[str | None, "The version to begin with [default: current]"] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Edits proposed in each search, at most.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="How often each text is asked about the confirm tasks.")] = 2,
    level: Annotated[float, "How often, at most, a text that is no better is accepted."] = 0.05,
    seed: Annotated[int, "Of the cut into train, select and confirm, and of the search."] = 0,
    out: Annotated[Path | None, "Ratings file [default: data/ratings/improve/AXIS.jsonl]"] = None,
    concurrency: show.Concurrency = 16,
    spending: show.Spending = show.Spending(),
    dry_run: show.DryRun = False,
    json: show.Json = False,
) -> None:
    """Have a model propose edits of a rubric; take one only where it is shown better on tasks it was not made from.

    Exit 0 where one is (the next version is written, a draft), 4 where none is shown, 1 where the best blinds judges to
    planted faults or moves other axes, 3 at the budget. The same command goes on where it was stopped.
    """
    import polars as pl

    from axisjudge.iterating import BudgetReachedError
    from axisjudge.iterating.improving import improve as improved
    from axisjudge.iterating.iteration import TRAJECTORIES, paths_of
    from axisjudge.iterating.work import RECORD, TARGETS
    from axisjudge.rubric.next_version import DRAFTS
    from axisjudge.workbench import home

    try:
        result = improved(
            axis,
            judges=judge,
            proposer=proposer,
            labels=labels or None,
            target=next(each for each in TARGETS if each == one_of("--target", target, TARGETS)),
            trajectories=trajectories or None,
            version=version,
            rounds=rounds,
            repeats=repeats,
            level=level,
            seed=seed,
            ratings=out,
            dry_run=dry_run,
            progress=not json,
            concurrency=concurrency,
            **vars(spending),
        )
    except BudgetReachedError as error:
        typer.echo(f"axisjudge: {error}", err=True)
        raise typer.Exit(3) from None
    if isinstance(result, str):
        if json:
            show.as_json({"forecast": result})
        else:
            typer.echo(f"{result[0].upper()}{result[1:]}.")
        return
    if json:
        show.as_json(result.to_dict())
    else:
        show.lines([each for each in (result.banner, *result.notes) if each])
        rows = result.candidates.frame.drop("proposal_usd").to_dicts()
        show.table([{**row, "reason": (row["reason"] or "")[:60]} for row in rows], "Candidates, search by search")
        if result.confirmed.shown is not None:
            show.table(result.confirmed.frame.to_dicts(), "Gains as shares, with bounds that hold at every look")
        if not result.sentence_worth.frame.is_empty():
            show.table(result.sentence_worth.frame.to_dicts(), "What each changed sentence earned, by leaving it out")
        front = result.front.frame.filter(pl.col("on_front")).drop("on_front")
        show.table(front.to_dicts(), "On the front: no other candidate agrees, decides and is as short as well")
        typer.echo(f"To choose one of them yourself, shown better or not: axisjudge rubric promote {axis} KEY")
        taken = [result.confirmed.answer, result.flips.answer] if result.confirmed.shown is not None else []
        for answer in (*taken, result.front.answer):
            typer.echo(f"\n{answer}")
        typer.echo(f"\nSpent, as the server told or by list price: ${result.spent_usd:,.4f}.\n\n{result.answer}")
        if result.is_accepted:
            commands = f"axisjudge rubric diff {axis} {result.base} {result.version}, then axisjudge rubric promote"
            typer.echo(f"Next: {commands} {axis} {result.version}")
        judged = trajectories or [Path(TRAJECTORIES)] * (paths_of(None) == [home() / TRAJECTORIES])  # not the demo
        lead = f" -p trajectories={judged[0]}" if len(judged) == 1 else ""
        typer.echo(f"Page: axisjudge report 16 -p record=rubrics/{axis}/{DRAFTS}/{RECORD}{lead}")
    if code := {"accepted": 0, "refused": 1}.get(result.ending, show.CANNOT_TELL):
        raise typer.Exit(code)


# `axisjudge rubric log`: the trail of an axis, each version's agreement, and what may be held against the one before.

_COLUMNS = (
    *("version", "date", "status", "commit", "judges", "n", "side", "agents", "percent", "kappa"),
    *("change", "on", "compared", "changes"),
)


@app.example("log argument_validity")
def log(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    ratings: Annotated[list[Path] | None, "A ratings file [default: data/ratings/*.jsonl]"] = None,
    json: show.Json = False,
) -> None:
    """The trail of an axis: version, date, commit, the judges' agreement then, and how it changed on shared runs.

    Ratings are those given or found. `change` is of raw agreement, on the `on` runs of one side that both versions have
    from the same judges; `compared` says with which version, or why it cannot be.
    """
    from axisjudge.protocol.ledger import rubric_trail
    from axisjudge.ratings import read_ratings
    from axisjudge.workbench import home

    trail = rubric_trail(axis)
    searched = _searched(axis)
    paths = ratings or sorted((home() / "data" / "ratings").glob("*.jsonl"))
    table = read_ratings(*paths) if paths else None
    rows: list[dict[str, Any]] = []
    before: tuple[str, pl.DataFrame] | None = None
    for stone in trail:
        own = _shown(table, axis, stone.sha256)
        rows.append({**asdict(stone), **_then(own), **_against(before, own)})
        if own is not None:
            before = stone.version, own
    if json:
        claim = {} if table is None else show.standing_fields(table)
        show.as_json({"axis": axis, "ratings": [str(path) for path in paths], "versions": rows, **searched, **claim})
        return
    show.table([{name: row[name] for name in _COLUMNS} for row in rows])
    read = ", ".join(path.name for path in paths) or "no ratings file"
    typer.echo(f"Agreement of judges that were shown the version, from {read}; `uncertain` is a word of its own here,")
    typer.echo("so that all versions stand on the same runs (`judge` and `agreement` leave it out). More than noise?")
    typer.echo("  axisjudge rubric compare RATINGS --change AXIS=BEFORE:AFTER")
    for stone in trail:
        _say_chosen(axis, stone.version, stone.chosen_draft)
    if searched:
        typer.echo(f"\nThe last search by a model ({searched['drafts']} drafts in rubrics/{axis}/drafts):")
        typer.echo(f"  {searched['improvement']['answer']}")
    if table is not None:
        show.standing(table)


def _searched(axis: str) -> dict[str, Any]:
    """What the last `axisjudge rubric improve` came to, and how many drafts there are; empty where none was."""
    from axisjudge.iterating.work import RECORD
    from axisjudge.rubric.next_version import DRAFTS
    from axisjudge.studies.improvement import improvement
    from axisjudge.workbench import home

    folder = home() / "rubrics" / axis / DRAFTS
    if not (folder / RECORD).exists():
        return {}
    return {"drafts": len(list(folder.glob("*.md"))), "improvement": improvement(folder / RECORD).to_dict()}


def _shown(table: pl.DataFrame | None, axis: str, sha256: str) -> pl.DataFrame | None:
    """The verdicts of judges that were shown this text, one a run and judge; None where fewer than two were."""
    import polars as pl

    if table is None:
        return None
    shown = (pl.col("question") == axis) & (pl.col("rubric_sha256") == sha256) & (pl.col("repeat") == 0)
    own = table.filter(shown).unique(subset=["item_id", "rater"], keep="last", maintain_order=True)
    return own if own["rater"].n_unique() > 1 else None


def _then(own: pl.DataFrame | None) -> dict[str, Any]:
    """Agreement under a version, and on which runs of whom."""
    if own is None:
        return dict.fromkeys(("judges", "n", "side", "agents", "percent", "kappa"))
    from axisjudge.studies._shared.words import in_cell

    agreement = _agreement(own)
    cells = {name: agreement.coefficients.get(name) for name in ("percent", "kappa")}
    return {
        "judges": own["rater"].n_unique(),
        "n": agreement.n_items,
        "side": " and ".join(own["split"].fill_null("no split").unique().sort()),
        "agents": own["agent"].n_unique(),
        **{name: None if cell is None else in_cell(cell) for name, cell in cells.items()},
    }


def _agreement(own: pl.DataFrame) -> QuestionAgreement:
    from axisjudge.studies.agreement.by_question import agreement_by_axis

    return agreement_by_axis(own, uncertain="category").questions[0]  # one base for all versions


def _against(before: tuple[str, pl.DataFrame] | None, own: pl.DataFrame | None) -> dict[str, Any]:
    """The change of raw agreement on what both rows have in common, or why there is none."""
    import polars as pl

    nothing: dict[str, Any] = {"change": None, "on": None}
    if own is None or before is None:
        return {**nothing, "compared": None if own is None else "the first with ratings"}
    version, older = before
    cannot = f"not with {version}"
    judges = sorted(set(own["rater"]) & set(older["rater"]))
    if len(judges) < 2:
        return {**nothing, "compared": f"{cannot}: other judges"}
    mine = pl.col("rater").is_in(judges)
    same_runs = {"on": ["item_id", "split"], "how": "semi", "nulls_equal": True}
    old, new = older.filter(mine), own.filter(mine)
    old, new = old.join(new, **same_runs), new.join(old, **same_runs)  # type: ignore[arg-type]
    if new.is_empty():
        disjoint = set(own["agent"].drop_nulls()).isdisjoint(older["agent"].drop_nulls())
        runs = "runs of other agents" if disjoint else "other runs"
        why = "another side" if set(own["split"]).isdisjoint(older["split"]) else runs
        return {**nothing, "compared": f"{cannot}: {why}"}
    values = [_agreement(table).coefficients.get("percent") for table in (old, new)]
    change = None if None in values else values[1].estimate - values[0].estimate  # type: ignore[union-attr]
    n, of = new["item_id"].n_unique(), (older["item_id"].n_unique(), own["item_id"].n_unique())
    only = "" if of == (n, n) else f", of {of[0]} and {of[1]} runs"
    fewer = "" if set(own["rater"]) == set(older["rater"]) else f", {len(judges)} judges of both"
    return {"change": change, "on": n, "compared": f"with {version}{only}{fewer}"}


def statistics() -> Iterable[str]:
    """What a plan can declare."""
    from axisjudge.protocol.plan import statistics

    return statistics()


@app.example("lock --judge rules --axis sequencing --margin 0.05", cls=show.naming("Statistics", statistics))
def lock(
    judge: Annotated[
        list[str], "A judge of the held-out side; repeatable [default: those of the open side's ratings]"
    ] = [],
    panel: Panel = None,
    rubric: Annotated[list[str], "A rubric version for an axis, as axis=v2 [default: current]"] = [],
    axis: Annotated[list[str], "A primary axis; may be given several times. All five if none."] = [],
    statistic: Annotated[str | None, "The primary statistic, named below [default: cohen_kappa]"] = None,
    uncertain: Annotated[str | None, "exclude or category [default: exclude]"] = None,
    weighting: Annotated[str | None, "none, product or minimum [default: none]"] = None,
    margin: Annotated[float | None, "What still counts as no difference [default: 0.05]"] = None,
    n: Annotated[int | None, typer.Option(min=1, help="Held-out runs planned for [default: all]")] = None,
    plan: Annotated[Path | None, "An analysis plan as JSON; options go before it."] = None,
    ratings: Annotated[
        list[Path] | None,
        "Calibration ratings: confidence maps are fitted on them and frozen, aliases looked up "
        "[default: those in data/ratings]",
    ] = None,
    panel_file: Annotated[
        list[Path], "A fitted panel that will be applied to the held-out side; may be given several times."
    ] = [],
    allow_alias: Annotated[bool, "Take names whose model may change."] = False,
    json: show.Json = False,
) -> None:
    """Freeze rubrics, prompts, judges, split and analysis plan; the held-out side can then be opened."""
    from axisjudge.protocol import AnalysisPlan, freeze_maps, kept_ratings, make_lock, plan_of, rated_before, read_split
    from axisjudge.protocol.lock import FILE
    from axisjudge.rubric import list_rubrics
    from axisjudge.spec import parse_specs
    from axisjudge.spec.judge_spec import panel as panel_of
    from axisjudge.verdict import AXES, IDENTITY

    chosen = {
        "axes": axis or None,
        "statistic": statistic,
        "uncertain": uncertain,
        "weighting": weighting,
        "margin": margin,
        "n": n,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    fields = {"axes": list(AXES), **_from_file(plan), **given}
    AnalysisPlan.of(fields)
    split, every = read_split(), kept_ratings(ratings or ())
    table = None if every is None else every.unique(subset=list(IDENTITY), keep="last", maintain_order=True)
    judges = parse_specs([*judge, *(panel_of(panel) if panel else [])] or _judges_of(split.open_side, table))
    if table is not None:
        giving = set(table.drop_nulls("confidence")["rater"])
        fields["maps"] = freeze_maps(table, split, raters=[each.rater for each in judges if each.rater in giving])
    with show.failed_check():
        locked = make_lock(
            judges,
            AnalysisPlan.of(fields),
            versions=pairs("--rubric", rubric, "axis=version", cure="for example argument_validity=v2"),
            allow_alias=allow_alias,
            ratings=table,
            panels=[path.absolute() for path in panel_file],
        )
    if json:
        show.as_json(locked)
        return
    show.table([{"axis": name, "rubric": held["version"]} for name, held in locked["rubrics"].items()])
    for name, held in locked["rubrics"].items():
        newer = [each.version for each in list_rubrics(name) if each.status == "draft"]
        if newer and newer[-1] != held["version"]:
            typer.echo(f"Locked with {held['version']}, though {newer[-1]} is a draft: {name}, no axis of the plan.")
        _say_chosen(name, held["version"], held.get("chosen_draft"))
    show.table([{"judge": name, "mechanism": held["mechanism"]} for name, held in locked["judges"].items()])
    if fitted := locked.get("panels"):
        show.table([{"panel": name, "sha256": held["sha256"][:12]} for name, held in fitted.items()])
    for name, alias in locked["aliases"].items():
        answered = ", ".join(alias["returned_models"]) or "nothing on record"
        typer.echo(f"Alias: {name} may be moved by its provider; answered so far: {answered}")
    typer.echo(plan_of(locked).sentence)
    frozen = plan_of(locked).maps.items()
    maps = ", ".join(f"{rater} ({each['kind']}, {each['n_fitted']})" for rater, each in frozen)
    typer.echo(f"Planned for {plan_of(locked).n} held-out runs. Confidence maps: {maps or 'none'}.")
    if early := rated_before(every, split):
        typer.echo(early.sentence)
    typer.echo(f'\nLock: {FILE}. Next: axisjudge holdout open --reason "..."')


@app.example("status")
def status(json: show.Json = False) -> None:
    """Whether the lock still holds, and every field that changed since: exit code 1 where it does not."""
    from axisjudge.protocol import status as status_of

    state = status_of()
    if json:
        changed = [{"field": each.path, "was": each.was, "is": each.now} for each in state.changes]
        show.as_json({"locked": state.locked, "holds": state.holds, "faults": list(state.faults), "changes": changed})
    elif state.holds:
        typer.echo("The lock holds: nothing has changed since.")
    else:
        show.lines(state.reasons)
    if not state.holds:
        raise typer.Exit(1)


def _from_file(path: Path | None) -> dict[str, Any]:
    from axisjudge.protocol.ledger import read_json

    if path is None:
        return {}
    if not path.is_file():
        raise InputError("--plan", "no such file", str(path))
    fields = read_json(path, str(path))
    if not isinstance(fields, dict):
        raise InputError("--plan", "must hold one JSON object", str(path))
    return fields


def _judges_of(side: str, table: pl.DataFrame | None) -> list[str]:
    """The judges that rated the open side."""
    import polars as pl

    from axisjudge.ratings.edge import BY_JUDGE

    mine = (pl.col("split") == side) & BY_JUDGE
    if table is not None and (rated := table.filter(mine)).height:
        return rated["rater"].unique().sort().to_list()
    cure = f"name them: --judge SPEC, or judge first: axisjudge judge --split {side} --judge SPEC"
    raise InputError("--judge", f"no judge is named, and none has rated the {side} side", cure=cure)
