"""`axisjudge.improve`: a model writes edits of a rubric, and data on other tasks decide whether one is better.

1. The calibration side is cut by task into train, select and confirm (`axisjudge.iterating.search.nested_cut`).
2. Noise: the current text is asked again on the tasks of the search; what differs is no case for the proposer.
3. Search: candidates are made from train tasks, chosen on select tasks; each is a draft in ``rubrics/AXIS/drafts/``.
4. Confirm: the one with the highest gain is asked on tasks that it was not made from, beside its parent and two
   controls, in one run, call by call; what is large is seen early by bets, the rest at the last look
   (`axisjudge.stats.acceptance`). All that was ever asked on these tasks is one family.
5. What is shown must also keep its sensitivity to twins and leave the neighbouring axes alone.

Everything that is asked, edits too, stands in one ratings file and is asked once: the same call goes on from there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axisjudge.checks import InputError, in_open_unit_interval, one_of, whole
from axisjudge.cluster import in_notebook
from axisjudge.iterating import proposing
from axisjudge.iterating.concluding import concluded
from axisjudge.iterating.iteration import Given, calibration_runs
from axisjudge.iterating.proposing import refusals
from axisjudge.iterating.search import Case, Cut, RubricCandidate, nested_cut, search, select_gain
from axisjudge.iterating.work import (
    RECORD,
    TARGETS,
    RubricSearch,
    Target,
    Verdicts,
    forecast_of,
    gold_labels,
    runs_of,
    searching,
)
from axisjudge.judges import Judge, JudgeLike, make_judges
from axisjudge.judging.plan import RunOptions
from axisjudge.protocol import find_split
from axisjudge.rubric.axes import SECTIONS, Rubric, load_rubric
from axisjudge.rubric.next_version import DRAFTS, with_front
from axisjudge.stats.estimate import many
from axisjudge.verdict import AXES
from axisjudge.workbench import own, write_whole

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.studies.improvement import Improvement


def improve(
    axis: str,
    *,
    judges: Sequence[JudgeLike],
    proposer: JudgeLike,
    labels: str | Path | Sequence[str | Path] | pl.DataFrame | None = None,
    target: Target = "labels",
    trajectories: Given = None,
    version: str | None = None,
    rounds: int = 10,
    repeats: int = 2,
    level: float = 0.05,
    seed: int = 0,
    ratings: str | Path | None = None,
    dry_run: bool = False,
    progress: bool | None = None,
    **money: Any,
) -> Improvement | str:
    """Search for a better text of a rubric, and take one only where it is shown better on tasks it was not made from.

    Parameters
    ----------
    axis : str
    judges : sequence of judges as `axisjudge.judge` takes them
        Those whose agreement is to rise; they must read rubrics.
    proposer : judge that writes, or ``simulated:NAME`` (`axisjudge.judges.simulated.PROPOSERS`)
        The model that writes edits.
    labels : path, paths or ratings table
        People's labels of runs on this axis; with `target` ``reference`` the runs' own tasks say them.
    target : {"labels", "agreement", "reference"}
        What is to rise: agreement with labels, of the judges with each other, or with what the runs' tasks expect.
    trajectories : as `axisjudge.iterate` takes them
        Of files the calibration side of the split is taken; held-out runs are refused.
    version : str, optional
        The version to begin with, by default the current one.
    rounds : int
        Proposals of each search at most.
    repeats : int
        How often each text is asked about the confirm tasks, and the first one about the others.
    level : float
        How often, at most, a text that is no better may be accepted, of all searches that ask on the same confirm
        tasks together; the first has half of it, and the gain's interval misses the truth with this probability.
    seed : int
        Of the cut and of the search.
    ratings : path, optional
        Where everything that is asked is kept, by default data/ratings/improve/AXIS.jsonl.
    dry_run : bool
        Give the forecast in words, and ask nothing.
    progress : bool, optional
        Tell on the error stream how far it came; by default where somebody watches.
    **money
        ``budget_usd`` (of all that the file holds), ``allow_unpriced``, ``confirm``, ``concurrency`` as
        `axisjudge.judge` takes them.

    Returns
    -------
    Improvement
        Accepted or not, with candidates, gains, the front, turned verdicts and what each sentence earned. An accepted
        text is written as the next version, a draft: `axisjudge rubric promote` makes it current. It is also saved as
        ``rubrics/AXIS/drafts/improvement.json.gz``.

    Raises
    ------
    InputError
        Labels, judges or tasks that will not do; a price that nobody agreed to.
    BudgetReachedError
        The budget was reached; the same call with a higher one goes on.
    """
    axis = one_of("axis", axis, AXES)
    one_of("target", target, TARGETS)
    whole("repeats", repeats)
    whole("rounds", rounds)
    in_open_unit_interval("level", level)
    raters, writer = _askable(judges, proposer, target)
    runs, notes = calibration_runs(trajectories, find_split())
    gold, reasons, by = gold_labels(axis, labels, runs, target)
    mine = {run.id: run for run in runs if run.id in gold and run.steps}
    if not mine:
        rule = f"no run of the calibration side has a label on {axis}"
        raise InputError("labels", rule, cure="name the labels of these runs (--labels), or another axis")
    cut = nested_cut([run.cluster_id for run in mine.values()], f"{axis}/{seed}")
    out = Path(ratings) if ratings is not None else own() / "data" / "ratings" / "improve" / f"{axis}.jsonl"
    first, options = _searchable(axis, version), RunOptions(**money)
    work = RubricSearch(first, raters, writer, mine, gold, reasons, by, target, repeats, out, options)
    _ = work.stamps  # held-out runs are refused before anything is asked
    forecast = forecast_of(work, cut, rounds)
    if dry_run:
        return forecast.sentence
    forecast.agree()
    work.check_room()
    watched = sys.stderr.isatty() or in_notebook() if progress is None else progress

    def tell(line: str) -> None:
        if watched:
            print(f"axisjudge: {line}", file=sys.stderr, flush=True)

    tell(forecast.sentence)
    noise = _noise(work, cut)
    if noise == noise:  # else each was asked once
        tell(f"the judges gave another verdict to the same text in {noise:.0%} of repeats")
    searches = [_searched(work, sides, n, rounds, seed, tell) for n, sides in enumerate(cut.searches)]
    result = concluded(work, cut, searches, noise, level, tell, notes)
    result.save(_drafts(axis) / RECORD)
    return result


def _askable(judges: Sequence[JudgeLike], proposer: JudgeLike, target: Target) -> tuple[list[Judge], Judge]:
    """The judges, which all read rubrics and of which there are enough, and the proposer."""
    raters, (writer,) = make_judges(judges), make_judges([proposer])
    if idle := next((each for each in raters if not each.reads_rubrics), None):
        raise InputError(f"judge {idle.rater}", "reads no rubric, so that no edit can better it", cure="leave it out")
    if target == "agreement" and len(raters) < 2:
        raise InputError("target", "agreement needs two judges or more", len(raters), "name another --judge")
    return raters, writer


def _searchable(axis: str, version: str | None) -> Rubric:
    """The version to begin with, if it has the sections that edits are looked at by."""
    first = load_rubric(axis, version)
    if tuple(first.headings) != SECTIONS:
        rule = f"sections must be {', '.join(SECTIONS)}: edits are looked at section by section"
        raise InputError(f"{axis} {first.version}", rule, list(first.headings), "begin with another --version")
    return first


def _noise(work: RubricSearch, cut: Cut) -> float:
    """The share of verdicts that differ from the first one when the same is asked again, on the search's tasks.

    Raises
    ------
    InputError
        No verdict of any judge can be read: there is nothing that an edit could better.
    """
    ids = searching(work, cut)
    verdicts = work.verdicts([work.first.text], ids, work.repeats)[work.first.text]
    if not any(verdicts.values()):
        rule = f"gave no verdict that can be read on {many(len(ids), 'run')} of the search; nothing else was asked"
        raise InputError("judges", rule, cure="see what they answer: axisjudge doctor --judge SPEC")
    pairs = [
        (id, verdicts.get((id, judge.rater, 0)), verdicts.get((id, judge.rater, repeat)))
        for id in ids
        for judge in work.judges
        for repeat in range(1, work.repeats)
    ]
    both = [(id, one != other) for id, one, other in pairs if one is not None and other is not None]
    work.unsteady = {id for id, differs in both if differs}
    return sum(differs for _, differs in both) / len(both) if both else float("nan")


def _searched(
    work: RubricSearch,
    sides: tuple[tuple[str, ...], tuple[str, ...]],
    number: int,
    rounds: int,
    seed: int,
    tell: Any,
) -> list[RubricCandidate]:
    """One search: candidates made from train tasks, each judged on select tasks; written as drafts."""
    train, select = (runs_of(work, side) for side in sides)

    def score(text: str, ids: Sequence[str]) -> list[Case[str]]:
        verdicts = work.verdicts([text], ids, 1)[text]
        return [_case(work, verdicts, id) for id in ids]

    def propose(text: str, cases: Sequence[Case[str]], n: int) -> RubricCandidate:
        candidate = _proposed(work, text, cases, n)
        state = f"refused: {candidate.refused}" if candidate.refused else candidate.reason
        tell(f"search {number + 1}, proposal {n} of {rounds}: {state}")
        return candidate

    candidates = search(
        work.first.text, train=train, select=select, score=score, propose=propose, rounds=rounds, seed=seed + number
    )
    for candidate in candidates:
        candidate.search = number + 1
    gains = [select_gain(each, candidates[0]) for each in candidates[1:] if each.select]
    best = f", the best {100 * max(gains):+z.0f} points" if gains else ""
    tell(f"search {number + 1}: {many(len(gains), 'candidate')} judged on select tasks{best}")
    for candidate in candidates[1:]:
        if not candidate.is_lost and candidate.key != candidate.parent:
            _write_draft(work, candidate, candidates[0])
    return candidates


def _case(work: RubricSearch, verdicts: Verdicts, id: str) -> Case[str]:
    credits = work.scores(verdicts, id, 1)
    words = [verdicts.get((id, judge.rater, 0)) for judge in work.judges]
    decided = sum(word in ("correct", "incorrect") for word in words) / len(words)
    score = sum(credits) / len(credits) if credits else 0.0
    return Case(id, score, {"agreement": score, "decided": decided})


def _proposed(work: RubricSearch, text: str, cases: Sequence[Case[str]], number: int) -> RubricCandidate:
    """The proposer's edit of a text after cases that are wrong and stay wrong, or why it is not taken."""
    steady = [case for case in cases if case.item not in work.unsteady]
    wrong = [case for case in steady if case.score < 1] or [case for case in cases if case.score < 1]
    items, parent = tuple(case.item for case in wrong), RubricCandidate(text).key
    shown = _shown(work, work.rubric(text), items)
    sheet = proposing.proposal_sheet(work.rubric(text), shown, number, work.refused[-3:], work.room)
    rating = work.proposal(sheet)
    made = RubricCandidate(f"{text}\n", parent, made_from=items, cost_usd=rating["cost_usd"] or 0.0)
    if rating["status"] != "ok":
        return replace(made, refused=f"its answer could not be read: {rating['rationale']}", is_lost=True)
    try:
        new, reason, fault = proposing.edited(text, rating["rationale"])
    except (KeyError, TypeError, AttributeError):
        return replace(made, refused="its answer has another form", is_lost=True)
    refused = [fault] if fault else refusals(new, work.first, work.content, work.names)
    if refused:
        work.refused.append(refused[0].partition(":")[0])
    return replace(made, text=new, reason=reason, refused="; ".join(refused[:3]))


def _shown(work: RubricSearch, rubric: Rubric, ids: Sequence[str]) -> list[dict[str, Any]]:
    """What the proposer sees of cases: the label with its reason, each judge's word, and the steps they cite."""
    table = work.kept.table()
    own_rows = (table["question"] == work.axis) & (table["rubric_sha256"] == rubric.sha256) & (table["repeat"] == 0)
    mine = table.filter(own_rows & table["trajectory_id"].is_in(list(ids)) & table["verdict"].is_not_null())
    rows: dict[str, list[dict[str, Any]]] = {id: [] for id in ids}
    for row in mine.sort("rater").iter_rows(named=True):
        rows[row["trajectory_id"]].append(row)
    return [_shown_case(work, id, of_run) for id, of_run in rows.items()]


def _shown_case(work: RubricSearch, id: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    verdicts: list[dict[str, Any]] = [
        {"judge": f"judge {n}", "verdict": row["verdict"], "reason": row["rationale"] or ""}
        for n, row in enumerate(rows, start=1)
    ]
    reason, cited = work.reasons.get(id, ("", []))
    if reason:
        verdicts.insert(0, {"label": work.labels[id], "reason": reason})
    steps = [*cited, *(step for row in rows for step in row["cited_step_indices"] or [])]
    return proposing.case_of(work.runs[id], work.labels[id] or "that on which judges agree", verdicts, steps)


def _drafts(axis: str) -> Path:
    folder = own() / "rubrics" / axis / DRAFTS
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_draft(work: RubricSearch, candidate: RubricCandidate, first: RubricCandidate) -> None:
    """A candidate as a file: its text under its parent, its reason, the cases behind it, its gain and its cost."""
    path = _drafts(work.axis) / f"{candidate.key}.md"
    if path.exists():
        return
    front = {
        "axis": work.axis,
        "parent": work.first.version if candidate.parent == first.key else candidate.parent,
        "begun_with": work.first.version,
        "date": date.today(),
        "status": "refused" if candidate.refused else "judged",
        "reason": candidate.reason,
        "refused": candidate.refused or None,
        "made_from": list(candidate.made_from),
        "select_gain": round(select_gain(candidate, first), 4) if candidate.select else None,
        "proposal_usd": candidate.cost_usd,
    }
    write_whole(path, with_front(front, candidate.text))
