"""All words of the comparison of rubric versions; what they say is decided elsewhere, by codes and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.betting import FEWEST_NULL
from axisjudge.stats.comparisons import progress
from axisjudge.stats.comparisons.progress import ProgressReason
from axisjudge.stats.estimate import QUANTITIES, Estimate
from axisjudge.studies._shared.words import (
    briefly,
    directed,
    in_points,
    listed,
    many,
    named,
    p_words,
    reasons,
    sentence_case,
    spanned,
)
from axisjudge.studies.rubric_versions.versions import JudgeShift, SoftSplit, UncomparedRatings, VersionAgreement

#: What coefficients are called.
LABELS = {"percent": "agreement (raw)", "ac1": "Gwet's AC1", "alpha": "Krippendorff's alpha"} | {
    "soft": QUANTITIES["soft_agreement"].words
}

#: Why the rule says what it says; braces are filled with the numbers of the turn.
REASONS = {
    ProgressReason.TOO_FEW_TASKS: "both versions have verdicts on {tasks} alone, and nothing is said of fewer than "
    "{fewest}",
    ProgressReason.ROSE: "agreement rose over tasks, and by more than repeats of one version differ",
    ProgressReason.FELL: "agreement fell over tasks, and by more than repeats of one version differ",
    ProgressReason.ROSE_UNREPEATED: "agreement rose over tasks, but one version asked again might differ as much",
    ProgressReason.FELL_UNREPEATED: "agreement fell over tasks, but one version asked again might differ as much",
    ProgressReason.WITHIN_NOISE: "the change of {change:+z.2f} does not exceed what repeats of one version differ by "
    "({threshold:.2f} on {degrees} degrees of freedom)",
    ProgressReason.ONE_WORD: "under the new version all verdicts are one word, so that chance alone agrees",
    ProgressReason.CHANCE: "beyond chance agreement fell (alpha {alphas[0]:z.2f} to {alphas[1]:z.2f}) although raw "
    "agreement rose",
    ProgressReason.CONFIDENCES_MOVED: "confidences moved where verdicts stayed",
    ProgressReason.MARGIN_EXCLUDED: "a change of {margin:.2f} is excluded",
    ProgressReason.NEITHER_SHOWN: "neither a change nor its absence is shown by {tasks}",
}

NORMALISED = "ranks of each judge's confidences over {ranked_over}, all rubric versions pooled"


def reason(decision: progress.ProgressVerdict, agreement: progress.Moved, alphas: tuple[float, float]) -> str:
    """Which part of the rule decided."""
    noise = agreement.noise or progress.RunNoise(math.nan, 0, math.nan, (1, 1))
    numbers = {
        "tasks": many(agreement.change.n_clusters, "task"),
        "fewest": progress.FEWEST_TASKS,
        "change": agreement.mean,
        "threshold": noise.threshold,
        "degrees": noise.degrees,
        "alphas": alphas,
        "margin": progress.MARGIN,
    }
    return "; ".join(REASONS[each].format(**numbers) for each in decision.reasons)


def advice(decision: progress.ProgressVerdict) -> tuple[str, ...]:
    """What to ask for next, where repeats are missing."""
    times = decision.repeats or f"more than {progress.MOST_REPEATS}"
    return (
        (f"ask each version {times} times: repeats, not tasks, are what is missing",) if decision.lacks_repeats else ()
    )


def outcome(decision: progress.ProgressVerdict) -> str:
    """The outcome, never without the remark that noise was not measured where it was not."""
    remark = " (noise was not measured)"
    is_stated = decision.noise_measured or decision.outcome is progress.VersionOutcome.NOISE_NOT_MEASURED
    return f"{decision.outcome}{'' if is_stated else remark}"


def headline(axis: str, versions: tuple[str, str], decision: progress.ProgressVerdict, why: str) -> str:
    """What may be said of a turn, and which part of the rule decided."""
    is_open = decision.outcome in (progress.VersionOutcome.NOISE_NOT_MEASURED, progress.VersionOutcome.TOO_FEW)
    finding = f"{'cannot be judged, ' if is_open else 'is '}{outcome(decision)}: {why}."
    return f"On the axis {axis} the turn from {versions[0]} to {versions[1]} {finding}"


def answer(axis: str, versions: Sequence[VersionAgreement], agreement: progress.Moved, n_items: int) -> str:
    """Agreement under the new version, the change, its interval and n, after a colon."""
    before, after = versions
    now = f"under {after.version} of the rubric judges agree on {briefly(after.coefficients['percent'], '.0%')}"
    than = f"{directed(in_points(agreement.change))} than under {before.version}"
    return f"{now} of verdicts on {axis}, {than} ({many(n_items, 'run')} in {agreement.change.clusters})"


#: What must be read beside progress.
NOT_CORRECTNESS = "Agreement is not correctness, and only held-out tasks confirm it."
_HEDGED = " (confidences moved where verdicts stayed)"


def before(earlier: Sequence[tuple[str, str]]) -> str:
    """How the turns before the newest one came out."""
    if len(earlier) == 1:
        title, how = earlier[0]
        return f"The turn before, {title.rpartition(', ')[2]}, was {how}{_HEDGED if how.startswith('hedging') else ''}"
    return f"The turns before were {listed([f'{how} ({title})' for title, how in earlier], most=4)}"


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
        return f"on tasks held out, opened once, {result}; versions are not compared there"
    known = [each.estimate for _, each, _ in tests if not math.isnan(each.estimate)]
    results = f"of {len(tests)} declared results {shown or 'none'} {'is' if shown == 1 else 'are'} shown"
    results += " to differ from kappa" if of_weights else " to lie above chance"
    if all(math.isnan(p) for *_, p in tests):
        results = f"{name} is {spanned(known) if known else 'undefined'} in {len(tests)} declared results, untested"
    return f"on tasks held out {results}; versions are not compared there"


def less_sure(shifts: Sequence[JudgeShift]) -> tuple[str, str]:
    """Whether judges became less sure where their verdicts stayed, and what their mean confidences moved by."""
    known = {shift.judge: moved for shift in shifts if (moved := shift.confidence) and not math.isnan(moved.mean)}
    if not known:
        return "whether they became less sure is not known", "no confidence stands beside a verdict that stayed"
    less = [judge for judge, moved in known.items() if moved.established and moved.mean < 0]
    means = spanned([moved.mean for moved in known.values()], "+.3f")
    who = f"{listed(less, most=3)} became less sure" if less else "no judge is shown to be less sure"
    return who, f"where verdicts stayed mean confidence moved by {means}"


def next_step(decision: progress.ProgressVerdict, versions: tuple[str, str], n_flipped: int, *, opened: bool) -> str:
    """What to do after the newest turn."""
    before, after = versions
    if decision.lacks_repeats:
        return f"{sentence_case(advice(decision)[0])}."
    match decision.outcome:
        case progress.VersionOutcome.PROGRESS if not opened:
            return (
                f"Lock {after} with its judges and a plan (axisjudge rubric lock), then judge the tasks held out, once."
            )
        case progress.VersionOutcome.PROGRESS:
            read = f"Read the {many(n_flipped, 'flipped verdict')} below"
            return f"{read} before {after} is used, and have people label some: agreement is not correctness."
        case progress.VersionOutcome.TOO_FEW:
            enough = f"about {many(decision.needed, 'task')}" if decision.needed else "more tasks"
            return f"Judge {enough} under both {before} and {after}."
        case progress.VersionOutcome.NOISE_NOT_MEASURED:
            return f"Ask both {before} and {after} again in one run, with repeats={progress.REPEATS}."
    return f"Keep {before}, and write the next version where judges are still split: those runs are listed below."


def needed(decision: progress.ProgressVerdict, agreement: progress.Moved) -> list[str]:
    """How many tasks or repeats would tell, where these do not."""
    if decision.lacks_repeats:
        return [f"{sentence_case(text)}." for text in advice(decision)]
    if decision.outcome is not progress.VersionOutcome.TOO_FEW or not decision.needed:
        return []
    spread = agreement.task_spread
    by = "" if math.isnan(spread) else f" (SD of the change between tasks {spread:.2f})"
    return [
        f"About {many(decision.needed, 'task')} would tell a change of {progress.MARGIN:.2f}, or what was seen here, "
        f"from none in {progress.POWER:.0%} of cases{by}."
    ]


def agreement(versions: Sequence[VersionAgreement], change: progress.Moved, n_items: int, n_axes: int) -> str:
    """Raw agreement under both versions, and the tested change."""
    both = [version.coefficients["percent"] for version in versions]
    before, after = (briefly(percent, ".0%") for percent in both)
    family = f", Holm over {n_axes} axes" if n_axes > 1 else ""
    return (
        f"The judges agree on {before} of verdicts under {versions[0].version} and on {after} under "
        f"{versions[1].version}: {directed(in_points(change.change))} on {many(n_items, 'run')} in "
        f"{change.change.clusters}{reasons(*both)} "
        f"({p_words(change.p_adjusted)} by sign flips of whole tasks{family}; level {progress.LEVEL:.2f})."
    )


def beyond_chance(versions: Sequence[VersionAgreement]) -> str:
    """Chance-corrected coefficients under both versions."""
    before, after = (version.coefficients for version in versions)
    pairs = [(named(before[name].label), before[name], after[name]) for name in ("alpha", "kappa", "ac1")]
    values = [f"{label} went from {briefly(first)} to {briefly(second)}" for label, first, second in pairs]
    corrected = f"Corrected for chance, {listed(values)}{reasons(*(each for _, *ends in pairs for each in ends))}."
    if len(versions[0].soft) != 1:
        return corrected
    first, second = (version.soft[0].soft for version in versions)
    names = (version.version for version in versions)
    ends = zip((first, second), names, strict=True)
    ceilings = " and ".join(f"{soft.ceiling:.2f} under {name}" for soft, name in ends)
    return (
        f"{corrected} Soft agreement on normalised confidences went from {briefly(first)} to {briefly(second)}"
        f"{reasons(first, second)}; had the judges agreed on every verdict, the same confidences would give {ceilings}."
    )


def occasions_apart(before: str, after: str) -> str:
    """That the versions were asked at different times, and that nothing shows what a time alone changes."""
    return (
        f"{before} and {after} were judged at different times, and the noise of occasions was not measured: a model "
        "that changed in between looks like a rubric that changed its verdicts. More repeats ask both in one run; "
        f"else {FEWEST_NULL} runs of one version measure it."
    )


def run_noise(versions: Sequence[VersionAgreement], noise: progress.RunNoise | None, *, apart: bool) -> str:
    """How far runs of one version differ, or that it was not measured."""
    if apart:
        return occasions_apart(*(each.version for each in versions))
    if noise is None:
        return (
            "Noise between repeats was not measured: no version was asked twice. The test allows for noise that "
            "differs from task to task, not for judges that answer differently on all tasks at once. Ask again with "
            f"repeats={progress.REPEATS}, both {versions[0].version} and {versions[1].version}."
        )
    return (
        f"Between repeats of one version agreement varies by {100 * noise.spread:.1f} points (standard deviation; "
        f"{noise.repeats[0]} and {noise.repeats[1]} repeats), so that only a change of more than "
        f"{100 * noise.threshold:.1f} points exceeds this noise."
    )


def soft_split(soft: SoftSplit, n_flipped: int) -> str:
    """What of the change of raw soft agreement is flips and what is hedging."""
    if math.isnan(soft.total):
        return "Flips and hedging cannot be told apart: there are no confidences of two judges."
    if not n_flipped:
        moved = f"moved by {soft.total:+z.3f}, all of it hedging" if abs(soft.total) >= 0.0005 else "did not move"
        return f"Raw soft agreement {moved}: no verdict changed."
    return (
        f"Raw soft agreement moved by {soft.total:+z.3f}: {soft.flips:+z.3f} by {many(n_flipped, 'flipped verdict')} "
        f"and {soft.hedging:+z.3f} by confidences that moved (hedging)."
    )


def judge_shift(shift: JudgeShift) -> str:
    """One judge's flips beside noise, and its confidence where the verdict stayed."""
    ways = f" ({listed([f'{count} {name}' for name, count in shift.directions.items()])})" if shift.directions else ""
    count = f"of {many(shift.n_items, 'verdict')} {shift.n_flipped or 'none'} flipped{ways}"
    noise = "" if math.isnan(shift.noise) else f", two from repeats of one version in {shift.noise:.1%}"
    differ = f"Two verdicts on one run, one from each version, differ in {shift.turnover:.1%} of pairs{noise}"
    flipped = f"{shift.judge}: {count}. {differ}"
    if shift.confidence is None:
        return f"{flipped}; it gave no confidences."
    hidden = ", within the noise between repeats" if shift.confidence.hidden else ""
    p = p_words(shift.confidence.p_adjusted)
    moved = directed(shift.confidence.change, "higher", "lower", unit="", spec=".2f")
    return (
        f"{flipped}. Where the verdict stayed, mean confidence was {shift.confidence_before:.2f} before; now it is "
        f"{moved}; {p}{hidden}."
    )


def prevalence(versions: Sequence[VersionAgreement]) -> str:
    """How common the verdict incorrect was and is; stated where progress is claimed."""
    before, after = (version.shares.get("incorrect", 0.0) for version in versions)
    return (
        f"{before:.0%} of the verdicts were incorrect before and {after:.0%} are now. Agreement is not correctness: "
        "read some of the flips before the rubric is kept."
    )


def aside(judges: Sequence[str], *, same_text: bool, left_out: UncomparedRatings) -> list[str]:
    """Who reads no rubric, and what does not enter."""
    remarks = []
    if judges:
        aside, they = ("is left aside", "it reads") if len(judges) == 1 else ("are left aside", "they read")
        remarks.append(f"{listed(judges)} {aside}: {they} no rubric, so no version can move a verdict.")
    if same_text:
        remarks.append("The two versions have the same text: whatever changed is not the rubric's doing.")
    counts = {
        "of held-out tasks": left_out.held_out,
        "of runs without messages": left_out.empty_runs,
        "that only one version has": left_out.one_version_only,
    }
    if any(counts.values()):
        parts = [f"{many(count, 'rating')} {what}" for what, count in counts.items() if count]
        remarks.append(f"Left out: {listed(parts)}.")
    if left_out.lost:
        remarks.append(f"Counted neither as agreeing nor as differing: {many(left_out.lost, 'lost verdict')}.")
    return remarks


def flips_counted(n_flips: int, n_listed: int, where: str) -> str:
    """How many verdicts flipped, and which of them are listed."""
    if not n_flips:
        return f"No verdict flipped on {where}."
    count = f"{n_flips} verdicts" if n_flips > 1 else "One verdict"
    most = f"; the {n_listed} that changed agreement most are listed" if n_flips > n_listed else ""
    return f"{count} flipped on {where}{most}."


def looked(times: Sequence[float], stopped: Sequence[tuple[str, int]]) -> list[str]:
    """What intervals of every look are for, `times` the tasks of a fixed number, and the axes that are told."""
    return [
        "These intervals hold however often you look, if the order of tasks does not depend on their verdicts.",
        *([f"The price: up to {max(times):.1f} times as many tasks as one look at a fixed number."] if times else []),
        *(f"Stop: the agreement of {axis} changed, shown after {tasks} tasks." for axis, tasks in stopped),
    ]


def published_item(agreement: Mapping[str, float], changes: Sequence[str], overlaps: Sequence[str]) -> str:
    """Agreement by version, what of each change is flips and what is hedging, and how far cited steps overlap."""
    by_version = listed([f"{value:z.2f} under {version}" for version, value in agreement.items()])
    turns = zip(pairwise(agreement), changes, strict=True)
    split = "; ".join(f"from {old} to {new}: {change}" for (old, new), change in turns)
    cited = listed([f"{word} under {version}" for version, word in zip(agreement, overlaps, strict=True)])
    return (
        f"On the one published item raw soft agreement, one minus the distance of the two judges' beliefs, is "
        f"{by_version}. {sentence_case(split)}. The published overlap of cited steps is {cited}."
    )


def published_course(
    agree: Mapping[str, bool], beliefs: Mapping[str, Sequence[float]], soft: str, words: list[str]
) -> str:
    """What moved on the published run: verdicts, beliefs, and what one run allows to be said."""
    sides = {same: [name for name, agreed in agree.items() if agreed is same] for same in (False, True)}
    bare = [
        f"{verb} under {listed(sides[same])}" for same, verb in ((False, "disagree"), (True, "agree")) if sides[same]
    ]
    moves = [f"{judge} {', '.join(f'{value:.2f}' for value in held)}" for judge, held in beliefs.items()]
    return (
        f"On this run the two judges {listed(bare)}. Their beliefs that it is correct, under {listed(list(agree))}: "
        f"{'; '.join(moves)}. {soft} By the rule of this page one run of one task is {listed(words)}."
    )


def refused_task(of: Any) -> str:
    """The leak of a task that was used while tuning, and what the split says of it."""
    return (
        f"Task {of.task} was looked at while the rubric was tuned, and {of.n_items} of the {of.n_all} published "
        f"evaluation runs are of it. Named to the split, it stands on the {of.side} side, and "
        f"{many(len(of.held_out), 'task')} are left to hold out ({listed(of.held_out)}). Moved to the evaluation side "
        f"by hand it is refused with these words: \u201c{of.refusal}\u201d."
    )
