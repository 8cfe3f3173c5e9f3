"""All words of the comparison of rubric versions; what they say is decided elsewhere, by codes and numbers.

A sentence about a turn takes the turn, and is a property of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.betting import FEWEST_NULL
from axisjudge.stats.comparisons import progress
from axisjudge.stats.comparisons.progress import ProgressReason, VersionOutcome
from axisjudge.stats.estimate import QUANTITIES, Estimate
from axisjudge.studies._shared import words
from axisjudge.studies._shared.words import briefly, listed, many, named, p_words, sentence_case, spanned

#: What coefficients are called.
LABELS = {"percent": "agreement (raw)", "ac1": "Gwet's AC1", "alpha": "Krippendorff's alpha"} | {
    "soft": QUANTITIES["soft_agreement"].words
}

#: Why the rule says what it says; braces are filled with the numbers of the turn.
REASONS = {
    ProgressReason.TOO_FEW_TASKS: "both versions have verdicts on {tasks} alone, and nothing is said of fewer than "
    f"{progress.FEWEST_TASKS}",
    ProgressReason.ROSE: "agreement rose over tasks, and by more than repeats of one version differ",
    ProgressReason.FELL: "agreement fell over tasks, and by more than repeats of one version differ",
    ProgressReason.ROSE_UNREPEATED: "agreement rose over tasks, but one version asked again might differ as much",
    ProgressReason.FELL_UNREPEATED: "agreement fell over tasks, but one version asked again might differ as much",
    ProgressReason.WITHIN_NOISE: "the change of {change:+z.2f} does not exceed what repeats of one version differ by "
    "({noise.threshold:.2f} on {noise.degrees} degrees of freedom)",
    ProgressReason.ONE_WORD: "under the new version all verdicts are one word, so that chance alone agrees",
    ProgressReason.CHANCE: "beyond chance agreement fell (alpha {alphas[0]:z.2f} to {alphas[1]:z.2f}) although raw "
    "agreement rose",
    ProgressReason.CONFIDENCES_MOVED: "confidences moved where verdicts stayed",
    ProgressReason.MARGIN_EXCLUDED: f"a change of {progress.MARGIN:.2f} is excluded",
    ProgressReason.NEITHER_SHOWN: "neither a change nor its absence is shown by {tasks}",
}
#: What to do after a turn, by its outcome; where it is none of these, the old version is kept.
NEXT = {
    VersionOutcome.PROGRESS: "Lock {after} with its judges and a plan (axisjudge rubric lock), then judge the tasks "
    "held out, once.",
    VersionOutcome.TOO_FEW: "Judge {enough} under both {before} and {after}.",
    VersionOutcome.NOISE_NOT_MEASURED: f"Ask both {{before}} and {{after}} again in one run, with "
    f"repeats={progress.REPEATS}.",
}
OPENED = "Read the {flips} below before {after} is used, and have people label some: agreement is not correctness."
KEEP = "Keep {before}, and write the next version where judges are still split: those runs are listed below."

NORMALISED = "ranks of each judge's confidences over {ranked_over}, all rubric versions pooled"
#: What must be read beside progress.
NOT_CORRECTNESS = "Agreement is not correctness, and only held-out tasks confirm it."
#: Between versions that were asked in no run together nothing shows what a time alone changes.
APART = (
    "{before} and {after} were judged at different times, and the noise of occasions was not measured: a model that "
    "changed in between looks like a rubric that changed its verdicts. More repeats ask both in one run; else "
    f"{FEWEST_NULL} runs of one version measure it."
)
UNREPEATED = (
    "Noise between repeats was not measured: no version was asked twice. The test allows for noise that differs from "
    "task to task, not for judges that answer differently on all tasks at once. Ask again with "
    f"repeats={progress.REPEATS}, both {{before}} and {{after}}."
)


def reason(turn: Any) -> str:
    """Which part of the rule decided."""
    numbers = {
        "tasks": many(turn.agreement.change.n_clusters, "task"),
        "change": turn.agreement.mean,
        "noise": turn.agreement.noise,
        "alphas": [version.coefficients["alpha"].estimate for version in turn.versions],
    }
    return "; ".join(REASONS[each].format(**numbers) for each in turn.decision.reasons)


def advice(decision: progress.ProgressVerdict) -> list[str]:
    """What to ask for next, where repeats are missing."""
    times = decision.repeats or f"more than {progress.MOST_REPEATS}"
    told = f"ask each version {times} times: repeats, not tasks, are what is missing"
    return [told] if decision.lacks_repeats else []


def outcome(turn: Any) -> str:
    """The outcome, never without the remark that noise was not measured where it was not."""
    word = turn.decision.outcome
    is_stated = turn.decision.noise_measured or word is VersionOutcome.NOISE_NOT_MEASURED
    return f"{word}{'' if is_stated else ' (noise was not measured)'}"


def headline(turn: Any) -> str:
    """What may be said of a turn, and which part of the rule decided."""
    is_open = turn.decision.outcome in (VersionOutcome.NOISE_NOT_MEASURED, VersionOutcome.TOO_FEW)
    finding = f"{'cannot be judged,' if is_open else 'is'} {turn.outcome}: {turn.reason}."
    return f"On the axis {turn.axis} the turn from {turn.before} to {turn.after} {finding}"


def found(turn: Any) -> str:
    """What may be said of the new version, with agreement, its change, interval and n, without a stop."""
    change = turn.agreement.change
    now = f"under {turn.after} of the rubric judges agree on {briefly(turn.versions[1].coefficients['percent'], '.0%')}"
    than = f"{words.directed(words.in_points(change))} than under {turn.before}"
    where = f"{many(turn.n_items, 'run')} in {change.clusters}"
    return f"{sentence_case(turn.outcome)}: {now} of verdicts on {turn.axis}, {than} ({where})"


def answer(turn: Any) -> str:
    """The same, why, and how many tasks or repeats would tell."""
    return " ".join((f"{turn.found}. {sentence_case(turn.reason)}.", *turn.needed))


def needed(turn: Any) -> list[str]:
    """How many tasks or repeats would tell, where these do not."""
    decision, spread = turn.decision, turn.agreement.task_spread
    if decision.lacks_repeats or decision.outcome is not VersionOutcome.TOO_FEW or not decision.needed:
        return [f"{sentence_case(text)}." for text in advice(decision)]
    by = "" if math.isnan(spread) else f" (SD of the change between tasks {spread:.2f})"
    return [
        f"About {many(decision.needed, 'task')} would tell a change of {progress.MARGIN:.2f}, or what was seen here, "
        f"from none in {progress.POWER:.0%} of cases{by}."
    ]


def next_step(turn: Any, *, opened: bool) -> str:
    """What to do after the newest turn."""
    decision = turn.decision
    if decision.lacks_repeats:
        return f"{sentence_case(advice(decision)[0])}."
    is_opened = opened and decision.outcome is VersionOutcome.PROGRESS
    step = OPENED if is_opened else NEXT.get(decision.outcome, KEEP)
    enough = f"about {many(decision.needed, 'task')}" if decision.needed else "more tasks"
    flips = many(turn.n_flipped, "flipped verdict")
    return step.format(before=turn.before, after=turn.after, enough=enough, flips=flips)


def changed(turn: Any) -> list[str]:
    """Agreement under both versions with the tested change, beyond chance, beside noise, and what of it is hedging."""
    return [_agreement(turn), _beyond_chance(turn), _noise(turn), split_sentence(turn)]


def _agreement(turn: Any) -> str:
    both, change = [version.coefficients["percent"] for version in turn.versions], turn.agreement.change
    before, after = (briefly(percent, ".0%") for percent in both)
    family = f", Holm over {len(turn.family)} axes" if len(turn.family) > 1 else ""
    return (
        f"The judges agree on {before} of verdicts under {turn.before} and on {after} under {turn.after}: "
        f"{words.directed(words.in_points(change))} on {many(turn.n_items, 'run')} in {change.clusters}"
        f"{words.reasons(*both)} ({p_words(turn.agreement.p_adjusted)} by sign flips of whole tasks{family}; "
        f"level {progress.LEVEL:.2f})."
    )


def _beyond_chance(turn: Any) -> str:
    ends = [[version.named[name] for version in turn.versions] for name in ("alpha", "kappa", "ac1")]
    went = [f"{named(both[0].label)} {_from_to(both)}" for both in ends]
    corrected = f"Corrected for chance, {listed(went)}{words.reasons(*(each for both in ends for each in both))}."
    soft = [version.named.get("soft") for version in turn.versions]
    if None in soft:  # several pairs of judges
        return corrected
    names = zip(soft, (turn.before, turn.after), strict=True)
    ceilings = " and ".join(f"{each.ceiling:.2f} under {name}" for each, name in names)
    return (
        f"{corrected} Soft agreement on normalised confidences {_from_to(soft)}{words.reasons(*soft)}; had the judges "
        f"agreed on every verdict, the same confidences would give {ceilings}."
    )


def _from_to(both: Sequence[Any]) -> str:
    return f"went from {briefly(both[0])} to {briefly(both[1])}"


def _noise(turn: Any) -> str:
    noise = turn.agreement.noise
    if turn.pair.apart or noise is None:
        return (APART if turn.pair.apart else UNREPEATED).format(before=turn.before, after=turn.after)
    return (
        f"Between repeats of one version agreement varies by {100 * noise.spread:.1f} points (standard deviation; "
        f"{noise.repeats[0]} and {noise.repeats[1]} repeats), so that only a change of more than "
        f"{100 * noise.threshold:.1f} points exceeds this noise."
    )


def split_sentence(turn: Any) -> str:
    """What of the change of raw soft agreement is flips and what is hedging."""
    soft = turn.soft
    if math.isnan(soft["total"]):
        return "Flips and hedging cannot be told apart: there are no confidences of two judges."
    if not turn.n_flipped:
        moved = f"moved by {soft['total']:+z.3f}, all of it hedging" if abs(soft["total"]) >= 0.0005 else "did not move"
        return f"Raw soft agreement {moved}: no verdict changed."
    flips = f"{soft['flips']:+z.3f} by {many(turn.n_flipped, 'flipped verdict')}"
    hedging = f"{soft['hedging']:+z.3f} by confidences that moved (hedging)"
    return f"Raw soft agreement moved by {soft['total']:+z.3f}: {flips} and {hedging}."


def judge_shift(shift: Any) -> str:
    """One judge's flips beside noise, and its confidence where the verdict stayed."""
    ways = f" ({listed([f'{count} {name}' for name, count in shift.directions.items()])})" if shift.directions else ""
    noise = "" if math.isnan(shift.noise) else f", two from repeats of one version in {shift.noise:.1%}"
    flipped = (
        f"{shift.judge}: of {many(shift.n_items, 'verdict')} {shift.n_flipped or 'none'} flipped{ways}. Two verdicts "
        f"on one run, one from each version, differ in {shift.turnover:.1%} of pairs{noise}"
    )
    if (confidence := shift.confidence) is None:
        return f"{flipped}; it gave no confidences."
    moved = words.directed(confidence.change, "higher", "lower", unit="", spec=".2f")
    hidden = ", within the noise between repeats" if confidence.hidden else ""
    return (
        f"{flipped}. Where the verdict stayed, mean confidence was {shift.confidence_before:.2f} before; now it is "
        f"{moved}; {p_words(confidence.p_adjusted)}{hidden}."
    )


def beside(turn: Any) -> list[str]:
    """What is read beside a claim; who reads no rubric, and what does not enter."""
    pair, remarks = turn.pair, [*turn.citations.version_sentences, turn.contested.answer]
    if turn.decision.outcome is VersionOutcome.PROGRESS:
        was, now = (f"{version.shares.get('incorrect', 0.0):.0%}" for version in turn.versions)
        claim = f"{was} of the verdicts were incorrect before and {now} are now. Agreement is not correctness: "
        remarks.insert(0, f"{claim}read some of the flips before the rubric is kept.")
    if pair.aside:
        aside = "is left aside: it reads" if len(pair.aside) == 1 else "are left aside: they read"
        remarks.append(f"{listed(pair.aside)} {aside} no rubric, so no version can move a verdict.")
    if pair.same_text:
        remarks.append("The two versions have the same text: whatever changed is not the rubric's doing.")
    counts = pair.left_out
    what = {
        "held_out": "of held-out tasks",
        "empty_runs": "of runs without messages",
        "one_version_only": "that only one version has",
    }
    if left_out := [f"{many(counts[name], 'rating')} {which}" for name, which in what.items() if counts[name]]:
        remarks.append(f"Left out: {listed(left_out)}.")
    if counts["lost"]:
        remarks.append(f"Counted neither as agreeing nor as differing: {many(counts['lost'], 'lost verdict')}.")
    return remarks


def course(turns: Sequence[Any]) -> str:
    """What may be said of the newest version; then how earlier turns came out, or what agreement is not."""
    *earlier, newest = turns
    if newest.needed or newest.decision.outcome is VersionOutcome.TOO_FEW:  # nothing could be misread, but a need
        return str(newest.answer)
    if not earlier:
        return f"{newest.answer} {NOT_CORRECTNESS}"
    before = f"turns before were {listed([f'{turn.outcome} ({turn.title})' for turn in earlier], most=4)}"
    if len(earlier) == 1:
        (turn,) = earlier
        is_hedged = turn.decision.outcome is VersionOutcome.HEDGING_ONLY
        hedged = f" ({REASONS[ProgressReason.CONFIDENCES_MOVED]})" if is_hedged else ""
        before = f"turn before, {turn.before} to {turn.after}, was {turn.outcome}{hedged}"
    return f"{newest.answer} The {before}; agreement is not correctness."


def confirmed(tests: Sequence[tuple[str, Estimate, float]]) -> str:
    """What the declared tests (statistic, estimate, p by Holm) say on tasks held out; that none was opened."""
    if not tests:
        return "whether it holds on tasks held out is not known, as none were opened"
    statistic, estimate, p = tests[0]
    name = named(COEFFICIENTS[statistic].label) if statistic in COEFFICIENTS else statistic.replace("_", " ")
    of_weights = statistic == "case_weighted_kappa"  # declared is how far it lies from kappa
    shown = sum(p <= progress.LEVEL and (of_weights or estimate.estimate > 0) for _, estimate, p in tests)
    if len(tests) == 1:
        figure = f"{estimate.interval()}, {p_words(p)}"
        if math.isnan(p):
            result = f"{name} is {estimate.worded()}"
        elif of_weights:
            result = f"{name} is {estimate.estimate:+z.2f} from kappa ({figure})"
        else:
            result = "judges agree beyond chance" if shown else "agreement beyond chance is not shown"
            result = f"{result} ({name} {estimate.estimate:z.2f}, {figure})"
    elif all(math.isnan(p) for *_, p in tests):
        known = [each.estimate for _, each, _ in tests if not math.isnan(each.estimate)]
        result = f"{name} is {spanned(known) if known else 'undefined'} in {len(tests)} declared results, untested"
    else:
        than = "differ from kappa" if of_weights else "lie above chance"
        result = f"of {len(tests)} declared results {shown or 'none'} {'is' if shown == 1 else 'are'} shown to {than}"
    once = ", opened once," if len(tests) == 1 else ""
    return f"on tasks held out{once} {result}; versions are not compared there"


def less_sure(shifts: Sequence[Any]) -> tuple[str, str]:
    """Whether judges became less sure where their verdicts stayed, and what their mean confidences moved by."""
    known = {shift.judge: moved for shift in shifts if (moved := shift.confidence) and not math.isnan(moved.mean)}
    if not known:
        return "whether they became less sure is not known", "no confidence stands beside a verdict that stayed"
    less = [judge for judge, moved in known.items() if moved.established and moved.mean < 0]
    who = f"{listed(less, most=3)} became less sure" if less else "no judge is shown to be less sure"
    means = spanned([moved.mean for moved in known.values()], "+.3f")
    return who, f"where verdicts stayed mean confidence moved by {means}"


def judges_moved(of: Any) -> str:
    """How many verdicts of each judge flipped."""
    counts = [f"{one.n_flipped or 'none'} of {one.n_items} of {one.judge}" for one in of.turn.shifts]
    return f"Verdicts that flipped: {listed(counts)}."


def flips_counted(of: Any) -> str:
    """How many verdicts flipped, and which of them are listed."""
    n, where = len(of.turn.flips), f"{of.turn.axis.replace('_', ' ')} from {of.turn.before} to {of.turn.after}"
    if not n:
        return f"No verdict flipped on {where}."
    most = f"; the {of.most} that changed agreement most are listed" if n > of.most else ""
    return f"{f'{n} verdicts' if n > 1 else 'One verdict'} flipped on {where}{most}."


def looked(looks: Sequence[Any]) -> list[str]:
    """What intervals of every look are for, what they cost in tasks, and on which axes one may stop."""
    times = [each.times for each in looks if not math.isnan(each.times)]
    stopped = [(each.axis, each.evidence.stopped_at) for each in looks if each.evidence.stopped_at]
    return [
        "These intervals hold however often you look, if the order of tasks does not depend on their verdicts.",
        *([f"The price: up to {max(times):.1f} times as many tasks as one look at a fixed number."] if times else []),
        *(f"Stop: the agreement of {axis} changed, shown after {tasks} tasks." for axis, tasks in stopped),
    ]


def published_course(of: Any) -> str:
    """What moved on the published run: verdicts, beliefs, agreement, and what one run allows to be said."""
    sides: Mapping[str, list[str]] = {
        verb: [name for name, agreed in of.agree.items() if agreed is same]
        for verb, same in (("disagree", False), ("agree", True))
    }
    said = listed([f"{verb} under {listed(names)}" for verb, names in sides.items() if names])
    moves = "; ".join(f"{judge} {', '.join(f'{one:.2f}' for one in of.beliefs(judge))}" for judge in of.judges)
    soft = listed([f"{value:z.2f} under {version}" for version, value in of.raw_soft_agreement.items()])
    turns = zip(of.versions, of.versions[1:], of.changes, strict=False)
    split = "; ".join(f"from {old} to {new}: {change}" for old, new, change in turns)
    cited = listed([f"{word} under {version}" for version, word in zip(of.versions, of.overlaps, strict=True)])
    return (
        f"On this run the two judges {said}. Their beliefs that it is correct, under {listed(of.versions)}: {moves}. "
        f"On the one published item raw soft agreement, one minus the distance of the two judges' beliefs, is {soft}. "
        f"{sentence_case(split)}. The published overlap of cited steps is {cited}. By the rule of this page one run of "
        f"one task is {listed(sorted(set(of.words)))}."
    )


def refused_task(of: Any) -> str:
    """The leak of a task that was used while tuning, and what the split says of it."""
    return (
        f"Task {of.task} was looked at while the rubric was tuned, and {of.n_items} of the {of.n_all} published "
        f"evaluation runs are of it. Named to the split, it stands on the {of.side} side, and "
        f"{many(len(of.held_out), 'task')} are left to hold out ({listed(of.held_out)}). Moved to the evaluation side "
        f"by hand it is refused with these words: \u201c{of.refusal}\u201d."
    )
