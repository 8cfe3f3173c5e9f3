"""What few runs can tell, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from axisjudge.stats.estimate import Estimate, many
from axisjudge.stats.latent.panel import TAIL, LatentPanel, NoModel, Sampler, tails
from axisjudge.studies._shared.words import directed, in_points, listed, worth_of
from axisjudge.studies.few_runs.panel import Beside, JudgeBeside, LabelsHidden

_OF: dict[Sampler, str] = {"gibbs": "", "nuts": " of numpyro's NUTS"}


def answer(model: LatentPanel, overall: Beside, n_runs: int, n_tasks: int) -> str:
    """The share that fails, by the model and by design, and which of them to believe; or why the model says nothing."""
    start = f"Of {many(n_runs, 'run')} of {many(n_tasks, 'task')}"
    by_design = overall.called if math.isnan(overall.labelled.estimate) else overall.labelled
    share = f"{by_design.worded('.0%')} of the items"
    design = f"judges call {share} incorrect" if by_design is overall.called else f"{share} are labelled as failing"
    if math.isnan(by_design.estimate):
        return f"{start} nothing can be said: {model.refusal.value}, and no item has a label."
    if model.refusal is not NoModel.NONE:
        return f"{start} the model says nothing ({model.refusal.value}): {design}, and no more."
    if math.isnan(overall.model.failing.estimate):
        by_model, why = overall.model.called.worded(".0%"), f"not known: {model.cells[-1].failing.reason}"
        return f"{start}, {design}; the model says {by_model}. How many truly fail is {why}."
    by_model = f"by the model {overall.model.failing.worded('.0%')} of such items fail"
    return (
        f"{start}, {design}; {by_model}, on tasks like these. Where the model's assumptions are wrong, believe the "
        "first figure; neither shows that one agent or judge is better than another."
    )


def sample(model: LatentPanel, n_judges: int, n_open: int) -> str:
    """What was fitted, and whether the chains agree."""
    labels = f"{model.n_labelled:,} labelled" if model.n_labelled else "none labelled"
    left = f" {many(n_open, 'verdict')} left out, as neither word was said." if n_open else ""
    start = f"{many(n_judges, 'judge')}, {many(model.n_items, 'item')} ({labels}).{left}"
    if model.convergence is None:
        return start
    agreed, (low, high) = model.convergence, tails(model.effective.ci_level)
    chains = f"chains{_OF[model.sampler]} {'agree' if agreed.converged else 'do not agree'}"
    lost = f"; {many(agreed.n_divergent, 'draw')} diverged" if agreed.n_divergent else ""
    return (
        f"{start} The {chains}: R hat is at most {agreed.ratio:.3f}, and at least {agreed.effective_draws:,.0f} of "
        f"{agreed.n_draws:,} draws are effective{lost}. Intervals hold the central "
        f"{high - low:.0%} of the posterior, so that {1 - 2 * low / TAIL:.0%} of them hold the truth."
    )


def widths(rates: Sequence[Beside]) -> str:
    """How wide the intervals of single cells are, by the model and by design."""
    cells = [one for one in rates if "all" not in (one.model.agent, one.model.axis)]
    pairs = [(one.model.called, one.called) for one in cells or rates]
    known = [(_width(model), _width(design)) for model, design in pairs if not math.isnan(_width(model))]
    both = [pair for pair in known if not math.isnan(pair[1])]
    if not both:
        return "No rate has an interval both ways."
    model, design = (100 * median(column) for column in zip(*both, strict=True))
    return (
        f"The interval of the share that judges call incorrect, for an agent on an axis, is {model:.0f} points wide by "
        f"the model and {design:.0f} as counted{f' (median of {len(both)} cells)' if len(both) > 1 else ''}."
    )


def lenient(judges: Sequence[JudgeBeside]) -> str:
    """The judges whose own intervals are lenient or strict; nothing corrects for how many were looked at."""
    known = [one.model for one in judges if not math.isnan(one.model.leniency.ci_low)]
    if not known:
        return "Which judge is lenient is not known without the truth."
    parts = []
    for words, chosen in (
        ("lenient", [one for one in known if one.leniency.ci_low > 0]),
        ("strict", [one for one in known if one.leniency.ci_high < 0]),
    ):
        if chosen:
            far = max(chosen, key=lambda one: abs(one.leniency.estimate))
            by = directed(in_points(far.leniency), "lower", "higher")
            count = f"{len(chosen)} of {many(len(known), 'judge')}"
            verb, most = ("is", "") if len(chosen) == 1 else ("are", "most of all ")
            calls = f"calls a share incorrect that is {by} than the share that fails"
            parts.append(f"{count} {verb} shown to be {words}, {most}{far.judge}, which {calls}")
    if not parts:
        who = "The judge is not" if len(known) == 1 else f"None of {len(known)} judges is"
        return f"{who} shown to be lenient or strict."
    return f"{'; '.join(parts)}. Each judge was looked at alone, so this is exploratory."


def sources(model: LatentPanel) -> str:
    """Where the variance of a verdict comes from."""
    known = [one for one in model.components if not math.isnan(one.share.ci_low)]
    if not known:
        return "Where the variance of a verdict comes from is not known without the truth."
    most = sorted(known, key=lambda one: -one.share.estimate)[:3]
    first, *others = [f"in '{one.source}'" for one in most]
    shares = [one.share.worded(".0%") for one in most]
    lies = [f"{shares[0]} lies {first}", *(f"{each} {where}" for each, where in zip(shares[1:], others, strict=True))]
    return f"Of the variance of a verdict {listed(lies)}."


def effective(model: LatentPanel, by_design: Estimate | None) -> str:
    """What the panel is worth, both ways."""
    own = model.effective
    if math.isnan(own.estimate):
        return f"How many independent judges the panel is worth is not said: {own.reason}."
    beside = (
        ""
        if by_design is None or math.isnan(by_design.estimate)
        else f"; by the correlation of errors {by_design.estimate:.1f} ({by_design.interval('.1f')})"
    )
    return f"The {own.n_raters} judges {worth_of(own.n_raters, own, '.1f')}, by the model{beside}."


def hidden(trial: LabelsHidden | None) -> str:
    """How the model does on labels that it did not see."""
    if trial is None:
        return "No label was hidden to try the model on."
    start = f"With {many(trial.n_hidden, 'label')} hidden"
    if math.isnan(trial.failing.estimate) or math.isnan(trial.accuracy):
        return f"{start} the model does not say how many fail: {trial.failing.reason}."
    worse = " (lower is better: it is too sure here)" if trial.brier > trial.votes_brier else ""
    held = "holds" if trial.failing.ci_low <= trial.labelled.estimate <= trial.failing.ci_high else "does not hold"
    return (
        f"{start} the model says that {trial.failing.worded('.0%')} of items fail; the labels that are left say "
        f"{trial.alone.worded('.0%')} by themselves. The model's interval {held} the {trial.labelled.estimate:.0%} of "
        f"all labels. Of the hidden labels the model gets {trial.accuracy:.0%} right, the majority of judges "
        f"{trial.votes_accuracy:.0%}. The model's probabilities have a mean squared error (Brier score) of "
        f"{trial.brier:.3f} on them, the shares of judges that say incorrect {trial.votes_brier:.3f}{worse}."
    )


def _width(rate: Estimate) -> float:
    return rate.ci_high - rate.ci_low
