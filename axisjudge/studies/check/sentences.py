"""The check in plain lines: what was read, what each judge does, what the file supports, and the next command."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.estimate import Estimate
from axisjudge.studies.check.compute import WANTED_HALF_WIDTH, JudgeCheck, comparable

if TYPE_CHECKING:
    from axisjudge.studies.check.checked import Checked

#: With more judges than this each has one line; the rest stands in the table and in --json.
MOST_TOLD = 4
#: Fewer items more than this are not worth a line.
FEWEST_MORE = 10
#: A judge whose share of hits is below this even at the upper bound misses most.
MOST = 0.5


def report(result: Checked) -> dict[str, list[str]]:
    """Lines by part, in the order of print."""
    return {
        "read": _read(result),
        "judges": [line for judge in result.judges for line in _judge(result, judge)],
        "beside each other": [*_beside(result), *_people(result)],
        "supported": _supports(result),
        "next": [_next(result)],
    }


def answer(result: Checked) -> str:
    """The first finding: what each judge passes and catches; of many judges the span of the bounds."""
    if len(result.judges) == 1:
        return _first_line(result, result.judges[0])
    return f"{_several(result)} {_ranking(result)}".strip()


def _several(result: Checked) -> str:
    if len(result.judges) <= MOST_TOLD:
        names = ("sensitivity", "specificity") if result.votes.question.directed else ("agreement",)
        verbs = {"sensitivity": "caught", "specificity": "passed", "agreement": "agreed with people on"}
        each = [
            f"{judge.name} {_listed([f'{verbs[name]} {_share(judge.measures[name])}' for name in names])}"
            for judge in result.judges
        ]
        return f"{'; '.join(each)}."
    standards = [(judge, *_standard(judge)) for judge in result.judges]
    known = [(found.ci_low, chance) for _, found, chance in standards if found and not math.isnan(found.ci_low)]
    if not known:
        return f"None of {len(result.judges)} judges has an interval."
    lows = sorted(low for low, _ in known)
    name = "balanced accuracy" if known[0][1] else "kappa"
    above = sum(low > chance for low, chance in known)
    return (
        f"The lower bounds of {name} run from {lows[0]:.2f} to {lows[-1]:.2f} over {len(known)} judges; "
        f"{above} are above chance ({known[0][1]:g})."
    )


def _read(result: Checked) -> list[str]:
    votes, roles = result.votes, result.roles
    n_labelled = int(votes.labelled.sum())
    labelled = "all labelled" if votes.in_full else f"{votes.n_items - votes.n_unseen:,} labelled"
    lines = [f"{result.source}: {_many(votes.n_items, votes.noun)}, {labelled}."]
    where = f" (raters in {roles.rater!r}, their words in {roles.value!r})" if roles.long else ""
    lines.append(f"Judges: {_listed(roles.judges)}. People: {_listed(roles.people)}{where}.")
    if roles.cluster:
        worth = effective_clusters(votes.cluster_sizes)
        many = f"{votes.n_clusters} in all" + (
            "" if worth > 0.9 * votes.n_clusters else f", worth {worth:.1f} equal ones"
        )
        lines.append(f"Rows of one {roles.cluster!r} belong together, {many}; intervals are by {votes.unit}.")
    else:
        lines.append("No column says which rows belong together: each row counts as independent (--cluster COLUMN).")
    lines.append(_words_line(result))
    if roles.confidence:
        pairs = [f"{judge} = {column}" for judge, column in roles.confidence.items()]
        lines.append(
            f"Confidence: {_listed(pairs) if len(set(roles.confidence.values())) > 1 else pairs[0].split(' = ')[1]}."
        )
    if roles.left_out:
        lines.append(f"Not read: {_listed(roles.left_out[:8])}{' and more' if len(roles.left_out) > 8 else ''}.")
    if votes.n_copies:
        lines.append(f"Rows that repeat another: {votes.n_copies}, counted once.")
    if len(votes.people) > 1:
        tied = f"; {votes.n_tied} with a tie are left out" if votes.n_tied else ""
        lines.append(f"What people said is the majority of {len(votes.people)}{tied}.")
    if not votes.in_full and result.terms.sampling == "unknown":
        lines.append(
            f"Figures are of the {n_labelled:,} labelled {votes.noun}s alone: how they were drawn is not known."
        )
    return lines


def _words_line(result: Checked) -> str:
    asked = result.votes.question
    if not asked.directed:
        return f"Words: {', '.join(asked.words)}. None is taken as failing (--positive WORD names one to be caught)."
    turn = ""
    if asked.assumed:
        turn = f"; if {asked.passing!r} is the one to be caught, say --positive={shlex.quote(asked.passing)}"
    others = sorted(word for word, code in asked.code.items() if not code and word in _said(result))
    several = f" ({', '.join(others)})" if asked.passing.startswith("not ") else ""
    return f"Failing is {asked.failing!r}, passing is {asked.passing!r}{several}{turn}."


def _said(result: Checked) -> set[str]:
    return set(result.votes.question.code)


def _judge(result: Checked, judge: JudgeCheck) -> list[str]:
    lines = [_first_line(result, judge)]
    if len(result.judges) > MOST_TOLD:
        return lines
    if not result.votes.question.directed:
        return [*lines, *_standing_line(result, judge)]
    return [
        *lines,
        *_standing_line(result, judge),
        *_too_few(result, judge),
        *_rates(result, judge),
        *_alone(result, judge),
    ]


def _first_line(result: Checked, judge: JudgeCheck) -> str:
    votes, asked = result.votes, result.votes.question
    if not asked.directed:
        words = [f"{word!r} {_share(each)} of {each.n_items}" for word, each in judge.by_word.items() if each.n_items]
        common = max((each.n_items for each in judge.by_word.values()), default=0)
        commonest = next((word for word, each in judge.by_word.items() if each.n_items == common), "")
        if not judge.n_compared:
            return f"{judge.name}: no {votes.noun} has its word and people's."
        return (
            f"{judge.name} said what people said of {_share(judge.measures['agreement'])} of {judge.n_compared:,} "
            f"{votes.noun}s (always {commonest!r}: {common / judge.n_compared:.0%}); "
            f"by people's word {', '.join(words)}{_by(result)}."
        )
    passed, caught = judge.measures["specificity"], judge.measures["sensitivity"]
    if caught.reason.startswith("labelled"):
        return f"{judge.name}: what it passes and catches is not given: {caught.reason}."
    missing = (
        f" It gave no verdict on {judge.n_missing:,} labelled {_plural(judge.n_missing, votes.noun)}"
        if judge.n_missing
        else ""
    )
    if missing and judge.caught_bounds:
        low, high = judge.caught_bounds
        if f"{low:.0%}" != f"{high:.0%}":
            missing += f"; counting those people failed among them it caught between {low:.0%} and {high:.0%}"
    first = f"of the {passed.n_items:,} {votes.noun}s that people called {asked.passing!r} it passed {_share(passed)}"
    second = f"of the {caught.n_items:,} they called {asked.failing!r} it caught {_share(caught)}"
    first = first if passed.n_items else f"people called no {votes.noun} {asked.passing!r}"
    second = second if caught.n_items else f"people called none {asked.failing!r}, so nothing could be caught"
    return f"{judge.name}: {first}; {second}{_by(result)}.{missing}{'.' if missing else ''}"


def _by(result: Checked) -> str:
    return f"; by {result.votes.unit}" if result.roles.cluster else ""


def _standing(judge: JudgeCheck) -> str:
    """shown, worse, not_shown or none: whether a judge tells the words apart, by the bound that decides."""
    found, chance = _standard(judge)
    if found is None or math.isnan(found.ci_low):
        return "none"
    return "shown" if found.ci_low > chance else "worse" if found.ci_high < chance else "not_shown"


def _standard(judge: JudgeCheck) -> tuple[Estimate | None, float]:
    if "balanced_accuracy" in judge.measures:
        return judge.measures["balanced_accuracy"], 0.5
    return judge.measures.get("kappa"), 0.0


def _standing_line(result: Checked, judge: JudgeCheck) -> list[str]:
    found, chance = _standard(judge)
    standing = _standing(judge)
    if found is None or standing == "none":
        reason = found.reason if found else ""
        return [f"  Whether it is above chance cannot be said: {reason}."] if reason else []
    name = "balanced accuracy" if chance else "kappa"
    coin = f"{chance:.0%}" if chance else "0"
    low, high = (f"{end:.0%}" if chance else f"{end:.2f}" for end in (found.ci_low, found.ci_high))
    misses = _misses(result, judge)
    return {
        "shown": [f"  Above chance: {name} is at least {low}, where chance has {coin}.{misses}"],
        "worse": [
            f"  It is worse than chance: {name} is at most {high}, where chance has {coin}. See what its words mean."
        ],
        "not_shown": [f"  Not shown to be above chance: {name} may be as low as {low}, and chance has {coin}.{misses}"],
    }[standing]


def _misses(result: Checked, judge: JudgeCheck) -> str:
    """The plain sentence for a judge that misses most of what it should catch, or fails most of what it should pass."""
    asked, said = result.votes.question, ""
    if "sensitivity" in judge.measures and judge.measures["sensitivity"].ci_high < MOST:
        said += f" It misses at least {1 - judge.measures['sensitivity'].ci_high:.0%} of {asked.failing!r}."
    if "specificity" in judge.measures and judge.measures["specificity"].ci_high < MOST:
        said += f" It fails at least {1 - judge.measures['specificity'].ci_high:.0%} of {asked.passing!r}."
    return said


def _too_few(result: Checked, judge: JudgeCheck) -> list[str]:
    caught = judge.measures["sensitivity"]
    points = f"±{WANTED_HALF_WIDTH * 100:.0f} points"
    if caught.reason.startswith("labelled"):
        return []
    if not judge.more_failures or judge.more_failures < FEWEST_MORE:
        if not math.isnan(caught.ci_low):
            return []
        return [f"  Too few that people failed: {caught.n_items}, {caught.reason}."]
    more = _rounded(judge.more_failures)
    return [f"  Too few that people failed for {points}: {caught.n_items}; about {more:,} more would do."]


def _rates(result: Checked, judge: JudgeCheck) -> list[str]:
    from axisjudge.studies.check.checked import failing_share

    said, word = judge.said_failing, result.votes.question.failing
    if said is None or math.isnan(said.estimate):
        return []
    calls = f"  It calls {_share(said)} {word!r}"
    if judge.corrected is None:
        return [f"{calls}; people call {_share(failing_share(result))} so."]
    if result.terms.drawn_for not in ("", judge.name):
        return [f"{calls}; no corrected rate: labelled items were drawn by the verdicts of {result.terms.drawn_for}."]
    if judge.corrected.refusal:
        return [f"{calls}; no corrected rate: {judge.corrected.refusal}."]
    how = "at random" if result.terms.sampling == "random" else result.terms.sampling.replace("_", " ")
    weak = (
        f" {judge.corrected.warnings[0][0].upper()}{judge.corrected.warnings[0][1:]}."
        if judge.corrected.warnings
        else ""
    )
    if math.isnan(judge.corrected.rate.estimate):
        return [f"{calls}; no corrected rate: {judge.corrected.rate.reason}."]
    return [f"{calls}; corrected by labels drawn {how}, {_share(judge.corrected.rate)}.{weak}"]


def _alone(result: Checked, judge: JudgeCheck) -> list[str]:
    risk, level = result.terms.risk, result.terms.ci_level
    wish = f"  May it decide some alone, at {risk:.0%} error"
    if judge.alone is None or judge.alone.error is None:
        reason = judge.no_alone or (judge.alone.refusal if judge.alone else "")
        return [f"{wish}? Not shown: {reason}."]
    found = judge.alone
    error = judge.alone.error
    return [
        f"{wish}? Yes, {found.share:.0%} of them: at confidence {found.threshold:g} and above it errs in "
        f"{error.estimate:.0%}, at most {error.ci_high:.0%} with {level:.0%} confidence."
    ]


def _beside(result: Checked) -> list[str]:
    if len(result.judges) < 2:
        return []
    if not comparable(result.votes, result.terms):
        return [f"Judges are not compared: labelled items were drawn {result.terms.sampling.replace('_', ' ')}."]
    lines = [_ranking(result)]
    if len(result.judges) <= 3:
        for each in result.differences:
            one, other = each.judges
            parts = [
                f"{verb} {_points(found)}"
                for verb, found in (("catches", each.caught), ("passes", each.passed))
                if found is not None and not math.isnan(found.estimate)
            ] or [f"agrees with people {_points(each.agreement)}"]
            lines.append(f"{one} against {other}, on the same {result.votes.noun}s: it {_listed(parts)}.")
    return [line for line in lines if line]


def _ranking(result: Checked) -> str:
    sets = result.ranks
    if sets is None:
        return ""
    by = "balanced accuracy" if result.votes.question.directed else "agreement with people"
    if sets.refusal:
        return f"Judges are not ranked: {sets.refusal.replace('cluster', result.votes.unit)}."
    first = [result.judges[place].name for place in sets.first]
    if len(first) == 1:
        return f"By {by}, {first[0]} is shown to be above every other (simultaneous rank sets)."
    if sets.tied:
        return f"By {by} no judge is shown to be above another (simultaneous rank sets)."
    who = _listed(first) if len(first) <= 8 else f"{len(first)} of {len(result.judges)} judges"
    return f"By {by} the first place may belong to {who}; they are not told apart (simultaneous rank sets)."


def _people(result: Checked) -> list[str]:
    pairs = [(pair, pair.coefficients["kappa"]) for pair in result.people]
    found = [f"{' and '.join(pair.people)} {_number(kappa)}" for pair, kappa in pairs if not math.isnan(kappa.estimate)]
    if not found:
        return []
    return [f"People beside each other, Cohen's kappa: {'; '.join(found[:6])}{'; ...' if len(found) > 6 else ''}."]


def _supports(result: Checked) -> list[str]:
    can: list[str] = []
    cannot: list[str] = []
    to = f" to ±{WANTED_HALF_WIDTH * 100:.0f} points"
    some, every = result.judges[0], result.judges
    if result.votes.question.directed:
        shown = [judge.name for judge in every if _narrow(judge.measures["sensitivity"])]
        vague = [judge.name for judge in every if judge.name not in shown]
        (can if shown else cannot).append(
            f"what is caught{to}" + (f" ({_listed(shown)})" if shown and vague and len(shown) < 6 else "")
        )
        (can if any(_narrow(judge.measures["specificity"]) for judge in every) else cannot).append(
            f"what is passed{to}"
        )
        rate = some.corrected.refusal == "" if some.corrected else True
        (can if rate else cannot).append("a failure rate")
        (can if any(judge.alone and judge.alone.error for judge in every) else cannot).append("deciding some alone")
    (can if any(not math.isnan(judge.measures["kappa"].ci_low) for judge in every) else cannot).append(
        "chance-corrected agreement"
    )
    (can if len(result.votes.people) > 1 else cannot).append("people's agreement with each other")
    if len(every) > 1:
        (can if result.ranks and len(result.ranks.first) == 1 else cannot).append("one best judge")
    lines = [f"The file supports: {', '.join(can)}."] if can else []
    return lines + ([f"It does not support: {', '.join(cannot)}."] if cannot else [])


def _narrow(found: Estimate) -> bool:
    return found.ci_high - found.ci_low <= 2 * WANTED_HALF_WIDTH  # NaN is not


def _next(result: Checked) -> str:
    roles, votes = result.roles, result.votes
    words = ["axisjudge", "check", result.source if result.source != "table" else "FILE"]
    words += [part for judge in roles.judges[:3] for part in ("--judge", judge)] if len(roles.judges) <= 3 else []
    words += [part for person in roles.people[:3] for part in ("--human", person)]
    words += ["--cluster", roles.cluster] if roles.cluster else []
    words += result.options
    if not votes.question.directed:
        why, more = "to ask what is caught", [f"--positive={votes.question.words[0]}"]
    elif not votes.in_full and result.terms.sampling == "unknown":
        why, more = "if the labelled rows were drawn at random", ["--sampling", "random"]
    elif not roles.cluster and "none" not in result.options:
        why, more = "if rows share tasks", ["--cluster", "COLUMN"]
    else:
        why, more = "as a gate", ["--require", "caught>=0.8"]
    return f"Next, {why}: {shlex.join([*words, *more])}"


def _share(found: Estimate) -> str:
    """Share and interval, ``88% (84 to 91)``."""
    if math.isnan(found.estimate):
        return "an unknown share"
    if math.isnan(found.ci_low):
        return f"{found.estimate:.0%} (no interval: {found.reason})"
    return f"{found.estimate:.0%} ({found.ci_low * 100:.0f} to {found.ci_high * 100:.0f})"


def _points(found: Estimate) -> str:
    """A difference in points, ``12 points more (3 to 21)``."""
    size = abs(found.estimate) * 100
    ends = sorted(end * 100 * (1 if found.estimate >= 0 else -1) for end in (found.ci_low, found.ci_high))
    interval = "no interval" if math.isnan(found.ci_low) else f"{ends[0]:.0f} to {ends[1]:.0f}"
    return f"{size:.0f} points {'more' if found.estimate >= 0 else 'less'} ({interval})"


def _number(found: Estimate) -> str:
    interval = "no interval" if math.isnan(found.ci_low) else f"{found.ci_low:.2f} to {found.ci_high:.2f}"
    return f"{found.estimate:.2f} ({interval})"


def _rounded(count: int) -> int:
    """Two leading figures, upwards: a number of labels to plan with."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def _many(count: int, noun: str) -> str:
    return f"{count:,} {_plural(count, noun)}"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _listed(names: Sequence[str]) -> str:
    every = list(names)
    return f"{', '.join(every[:-1])} and {every[-1]}" if len(every) > 1 else "".join(every)
