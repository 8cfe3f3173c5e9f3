"""What located truth allows to be said, in sentences that are computed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from axisjudge.judges.rules.findings import FEWEST_FLAGGED, STATED_MARGIN
from axisjudge.labels.agentrx import ANY_STEP
from axisjudge.stats.agreement.chance_corrected import cohen_kappa
from axisjudge.stats.estimate import Estimate, no_interval
from axisjudge.studies._shared.words import judge_words, listed, many, share
from axisjudge.studies.located.counts import (
    ANY_AXIS,
    READER,
    REFERENCE,
    SECOND_READER,
    WHOLE_RUN,
    AgainstReading,
    Decided,
    FaultsFound,
    faults_of_readers,
)

_VERSION = re.compile(r"^rules-\d+$")
#: Whether the judge and the reference hold a fault against a run.
_HOLD = ((True, True), (False, True), (True, False), (False, False))
_HALVES = {"looked at": "of the tasks that was looked at", "unseen": "that was not"}


def ones(shares: Iterable[Estimate]) -> int:
    """How many items of these shares are counted in them."""
    return sum(round(share.estimate * share.n_items) for share in shares if share.n_items)


def decided_sentences(decided: Sequence[Decided]) -> tuple[str, ...]:
    """For every judge, summed over axes: how much it decides, and on how many failed runs it says correct."""
    rows = [one for one in decided if one.half == "all" and one.axis != ANY_AXIS]
    lines = []
    for judge in dict.fromkeys(one.judge for one in rows):
        own = [one for one in rows if one.judge == judge]
        applies = sum(one.n_runs - one.n_not_applicable for one in own)
        taken = sum(one.n_incorrect + one.n_correct for one in own)
        missed, of_failed = ones(one.said_correct for one in own), sum(one.said_correct.n_items for one in own)
        lines.append(
            f"{judge} takes a side on {taken:,} of {applies:,} pairs of a run and an axis "
            f"({taken / max(applies, 1):.0%}); of {of_failed:,} pairs whose run failed it calls "
            f"{f'{missed:,}' if missed else 'none'} correct."
        )
    return tuple(lines)


def precision_sentence(decided: Sequence[Decided]) -> str:
    """For the last judge, set by set: of the runs it calls incorrect on any axis, how many failed."""
    rows = [one for one in decided if one.half == "all" and one.axis == ANY_AXIS]
    if not rows:
        return "Nothing was judged."
    last = rows[-1].judge
    parts = [
        f"{one.precision.worded('.0%')} failed in {one.domain}, against {one.failing.estimate:.0%} of all runs"
        if one.n_incorrect
        else f"none is called so in {one.domain}"
        for one in rows
        if one.judge == last
    ]
    if not any(one.n_incorrect for one in rows if one.judge == last):
        return f"{last} calls no run incorrect, so that it cannot be said what its word is worth."
    return f"Of the runs that {last} calls incorrect on some axis, {'; '.join(parts)}."


def halves_sentence(decided: Sequence[Decided]) -> str:
    """For the last judge over all sets: precision by half, where halves are told apart."""
    rows = [one for one in decided if one.half != "all" and one.axis == ANY_AXIS]
    if not rows:
        return "The data are not split into halves."
    last, parts = rows[-1].judge, []
    for half in dict.fromkeys(one.half for one in rows):
        own = [one for one in rows if one.half == half and one.judge == last and one.n_incorrect]
        flagged = sum(one.n_incorrect for one in own)
        failed = ones(one.precision for one in own)
        parts.append(f"{failed} of {flagged} failed in the half {_HALVES.get(half, half)}")
    return f"Of the runs that {last} calls incorrect on some axis, {' and '.join(parts)}."


def faults_sentence(faults: Sequence[FaultsFound]) -> str:
    """For every labeller and judge over all sets: located faults, found on their axis, at the step, on any axis.

    Of versions of the rules the last counts.
    """
    rows = [one for one in faults if one.axis == ANY_AXIS]
    if not rows:
        return "No fault is located in a run that a judge judged."
    last, parts = _last_versions(rows), []
    for labeller, judge in dict.fromkeys((one.labeller, one.judge) for one in rows if one.judge in last):
        own = [one for one in rows if (one.labeller, one.judge) == (labeller, judge)]
        n = sum(one.n_faults for one in own)
        on_axis, at_step, on_any = (
            ones(getattr(one, name) for one in own) for name in ("on_axis", "at_step", "on_any")
        )
        rules = judge_words(judge) != judge  # the last version stands for all
        who = f"{judge_words(judge)} {'find' if rules else 'finds'}"
        parts.append(
            f"Of {many(n, 'fault')} {_located(labeller)} on an axis, {who} {on_axis or 'none'} on the fault's own axis"
            f"{f' ({at_step} at its step too)' if on_axis else ''}, and {on_any or 'none'} on any axis."
        )
    return " ".join(parts)


def left_out_sentence(left_out: Mapping[str, int]) -> str:
    """How many located faults of each judge do not count."""
    if not left_out:
        return ""
    counts = listed([f"{count:,} of {judge}" for judge, count in left_out.items()])
    return f"Located faults without a verdict of the judge on their axis are left out: {counts}."


def _last_versions(rows: Sequence[FaultsFound]) -> list[str]:
    """The judges, of versions of the rules the last alone; models whose names end in a number are no versions."""
    names = sorted({one.judge for one in rows}, key=lambda name: (len(name), name))  # rules-10 after rules-9
    return list({_VERSION.sub("rules", name): name for name in names}.values())


def answer(faults: Sequence[FaultsFound], together: Estimate) -> str:
    """How many of the faults that are located judges find, over sets and labellers, and what counts as found.

    `together` is the share that the last judge finds of all. Of versions of the rules the last counts. Where a set
    names no axes its faults stand for themselves.
    """
    whole = {(one.domain, one.labeller) for one in faults if one.axis == ANY_AXIS}
    rows = [one for one in faults if one.axis == ANY_AXIS or (one.domain, one.labeller) not in whole]
    if not rows:
        return "No fault is located in a run that a judge judged, so nothing can be said of what judges find."
    judges = _last_versions(rows)
    own = [one for one in rows if one.judge in judges]
    sets = {(one.domain, one.labeller): one.n_faults for one in own}
    same = len(judges) > 1 and len({one.on_axis.estimate for one in own}) == 1
    who = judge_words(judges[0]) if len(judges) == 1 else f"{'each of the ' * same}{len(judges)} judges"
    if len(sets) == 1:
        one = own[0]
        of = f"{many(one.n_faults, 'fault')} {_located(one.labeller)} in {one.domain} ({one.on_axis.clusters})"
        text = f"{_found(own)} found by {who}"
    else:
        labellers = listed(list(dict.fromkeys(_by(one.labeller) for one in own)), "or")
        of = f"{sum(sets.values()):,} faults located {labellers}"
        few, most = (pick(own, key=lambda one: one.on_axis.estimate) for pick in (min, max))
        alike = few.on_axis.estimate == most.on_axis.estimate
        ends = f"from {_of_set(few, judges)} to {_of_set(most, judges)}"
        ends = f"{few.on_axis.estimate:.0%} in each set" if alike else ends
        text = f"{'each judge finds' if alike else 'judges find'} {ends}"
        if len(judges) == 1:
            n_found = ones([together])
            text = f"{n_found or 'none'} ({share(together)}) {'is' if n_found == 1 else 'are'} found by {who}, {ends}"
    of_steps = [one.axis != ANY_AXIS for one in own]
    axis = "some axis" if all(of_steps) else f"the fault's own axis{' (any axis, if it has none)' * any(of_steps)}"
    return f"Of {of}, {text}. Found means that the judge calls {axis} incorrect."


def _of_set(one: FaultsFound, judges: Sequence[str]) -> str:
    """What is found in one set: ``1 of 11 (9%; agentrx, by people)``, of several judges with interval and name."""
    by, interval = (f": {one.judge}", share(one.on_axis)) if len(judges) > 1 else ("", f"{one.on_axis.estimate:.0%}")
    return f"{ones([one.on_axis]) or 'none'} of {one.n_faults:,} ({interval}; {one.domain}, {_by(one.labeller)}{by})"


def _by(labeller: str) -> str:
    return {"people": "by people", "planted": "as planted"}.get(labeller, f"by the {labeller}")


def next_step(faults: Sequence[FaultsFound]) -> str:
    """Whom to ask, or what to label next."""
    if not faults:
        return "Have people point at the faults of some runs (axisjudge label page)."
    if len(_last_versions(faults)) == 1:
        return "Fetch the runs (axisjudge data list) and ask a second judge of them (axisjudge judge)."
    return "Have people point at faults in runs that passed too (axisjudge label page): few have looked there."


def _found(rows: Sequence[FaultsFound]) -> str:
    """How many faults of one set are found, by the one judge, or by those that find fewest and most."""
    fewest, most = (pick(rows, key=lambda one: one.on_axis.estimate) for pick in (min, max))
    counts = [str(ones([one.on_axis]) or "none") for one in (fewest, most)]
    if len(rows) == 1:
        return f"{counts[0]} ({share(fewest.on_axis)}) {'is' if counts[0] == '1' else 'are'}"
    if fewest.on_axis.estimate == most.on_axis.estimate:
        return f"{counts[0]} {'is' if counts[0] == '1' else 'are'}"
    return f"{counts[0]} ({fewest.judge}) to {counts[1]} ({most.judge}) are"


def _ends(share: Estimate) -> str:
    return no_interval(share.reason) if math.isnan(share.ci_low) else share.interval(".0%")


def _located(labeller: str) -> str:
    words = {"people": "that people locate", "planted": "that were planted"}
    return words.get(labeller, f"that the {labeller} locates")


def parting_sentence(of: Any) -> str:
    """Over all sets for the last judge: failed runs by who holds a fault against them, and passing runs flagged."""
    partings = of.partings
    if partings.is_empty():
        return "Nothing was judged."
    last = partings["judge"][-1]
    own, holds = partings.filter(judge=last), ("judge_says", "reference")
    known = own.filter(pl.col("failed"), pl.col("reference").is_not_null())
    by = {says: _runs(known.filter(**dict(zip(holds, says, strict=True)))) for says in _HOLD}
    passing = own.filter(~pl.col("failed"))
    start = (
        f"Of {many(sum(by.values()), 'failed run')} whose task the reference knows, {last} and the reference both hold "
        f"a fault against {by[True, True]}, the reference alone against {by[False, True]}, {last} alone against "
        f"{by[True, False]}, and neither against {by[False, False]}. "
        if any(by.values())
        else ""
    )
    return f"{start}Of {many(_runs(passing), 'passing run')} {last} flags {_runs(passing.filter('judge_says'))}."


def _runs(partings: pl.DataFrame) -> int:
    return int(partings["n_runs"].sum())


def kinds_sentence(of: Any) -> str:
    """How many kinds of finding hold on sets that nothing was made on, and which do not."""
    if not of.kinds:
        return "Kinds of finding were not counted here."
    known = [one for one in of.kinds if one.holds is not None]
    hold = sum(bool(one.holds) for one in known)
    start = (
        f"{hold} of the {len(known)} kinds that flag {FEWEST_FLAGGED} kept-back runs or more hold there: the lower end "
        f"of the share that failed lies {STATED_MARGIN:.0%} or more above the share of all runs."
    )
    most = [
        f"{one.kind} ({ones([one.kept_back])} of {one.kept_back.n_items} failed, {one.base:.0%} of all)"
        for one in sorted(known, key=lambda one: -one.kept_back.n_items)[:3]
    ]
    if not known:
        return "No kind flags kept-back runs often enough to tell."
    return f"{start} Those that flag most: {listed(most)}."


def reading_sentences(reading: pl.DataFrame, rows: Sequence[AgainstReading]) -> tuple[str, ...]:
    """How many of the runs read by hand have a fault, and how often reference and rules name the reader's axis."""
    faulty, first = pl.col("axis").is_not_null().any(), pl.col("confidence").is_null().all()
    of_reader = reading.filter(rater=READER).group_by("trajectory_id")
    runs = of_reader.agg(pl.col("failed").first(), faulty=faulty, first=first)
    passed, failed = (runs.filter(failed=outcome) for outcome in (False, True))
    of_all = {one.rater: one for one in rows if one.axis == ANY_AXIS}
    counts = (
        f"{runs.height} runs of the kept-back sets ({passed.height} passed) were each read by one reader who saw "
        f"neither outcome, rules nor reference: {passed['faulty'].sum()} of the passed ones have a fault, "
        f"{failed['faulty'].sum()} of the failed."
    )
    if runs["first"].n_unique() == 2:
        one, two = (passed.filter(first=order) for order in (True, False))
        counts += (
            f" Of the passed runs read first {one['faulty'].sum()} of {one.height} have a fault, of those read later, "
            f"by another guide, {two['faulty'].sum()} of {two.height}."
        )
    held = {"rules": "The rules hold", REFERENCE: "The reference holds"}
    beside = (_beside_the_reader(held[rater], one) for rater, one in of_all.items() if rater in held)
    return counts, *beside, *([_readers_sentence(reading)] if SECOND_READER in of_all else [])


def _readers_sentence(reading: pl.DataFrame) -> str:
    """How far the two readers agree on the runs that both read."""
    table, parts = faults_of_readers(reading), []
    for whole in (True, False):
        own = table.filter((pl.col("axis") == WHOLE_RUN) == whole)
        kappa = cohen_kappa(own.select("one", "two").to_numpy(), clusters=own["task_id"].to_list(), rng=0)
        same = own.filter(pl.col("one") == pl.col("two")).height
        parts.append(f"{same} of {own.height} (kappa {kappa.estimate:z.2f}, {kappa.interval('.2f')})")
    return (
        f"A second reader read {table['trajectory_id'].n_unique()} of these runs by the same guide. Of runs, the two "
        f"agree whether there is a fault in {parts[0]}; of pairs of run and axis, in {parts[1]}. Both read in one "
        "manner, so this says little of whether they are right."
    )


def _beside_the_reader(held: str, one: AgainstReading) -> str:
    right, recall = one.precision, one.recall
    where = " in failed runs" if one.rater == REFERENCE else ""
    return (
        f"{held} {many(right.n_items, 'fault')}, of which the reader has {ones([right])} ({_ends(right)}); of the "
        f"{recall.n_items} that the reader has{where}, {ones([recall])} are among them ({_ends(recall)})."
    )


#: From so many items on a share has an interval beside it; of fewer the count says all.
FEWEST = 10


def faults_in_words(rows: Iterable[FaultsFound]) -> list[dict[str, Any]]:
    """Located faults, and how many of them each judge finds: on their axis, at their step, on any axis."""
    rows = [*rows]
    return [
        {
            "located by": one.labeller,
            "judge": one.judge,
            "set": one.domain,
            **({"axis": one.axis} if len({row.axis for row in rows}) > 1 else {}),
            "faults": one.n_faults,
            "on their axis": count(one.on_axis),
            "at their step": count(one.at_step),
            "on any axis": count(one.on_any),
            "undecided": count(one.undecided).split(" (")[0],
            "called not applicable": "–" if one.axis == ANY_STEP else count(one.not_applicable).split(" (")[0],
        }
        for one in rows
    ]


def count(rate: Estimate) -> str:
    """A share as a count, ``13 of 142 (4% to 20%)``; of few items without ends, of none a dash."""
    if not rate.n_items:
        return "–"
    ends = f" ({rate.interval('.0%')})" if rate.n_items >= FEWEST else ""
    return f"{ones([rate])} of {rate.n_items:,}{ends}"
