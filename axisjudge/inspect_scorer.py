"""A scorer of Inspect AI that grades samples on the five axes: ``inspect score LOG --scorer axisjudge/five_axes``.

Inspect finds it by its entry point. The score holds one value an axis, its explanation cites messages that Inspect's
viewer shows as links, and its metadata holds our ratings whole, so that `axisjudge import` of the log gives them back.

Source: UKGovernmentBEIS/inspect_ai, ``scorer/_scorer.py``, ``scorer/_metric.py`` (Score, Reference).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from inspect_ai.log import transcript
from inspect_ai.scorer import Reference, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from axisjudge.imports.inspect_scores import score_metadata, score_value
from axisjudge.judging import judge as judge_trajectories
from axisjudge.labels.own import ratings_of
from axisjudge.ratings import RatingsWriter
from axisjudge.readers import inspect_logs
from axisjudge.readers.context import load_context
from axisjudge.verdict import AXES, Rating

if TYPE_CHECKING:
    from axisjudge.trajectory import Trajectory


@scorer(metrics={"*": [accuracy(), stderr()]})
def five_axes(
    judge: str | Sequence[str] = "rules",
    axes: str | Sequence[str] = AXES,
    ratings: str | None = None,
    tools: str | None = None,
    policy: str | None = None,
    tool_kinds: str | Sequence[str] = (),
) -> Scorer:
    """Grade how an agent used its tools, each axis ``C`` (correct) or ``I`` (incorrect).

    Parameters
    ----------
    judge : str or sequence of str
        A judge spec such as ``rules`` or ``anthropic:claude-sonnet-4-6``; or its parts, which are what ``-S`` makes of
        one with options (``openai:gpt-5,effort=low``).
    axes : str or sequence of str
        Which axes; by default all five.
    ratings : path, optional
        A ratings file of ours, JSON Lines, that every sample's ratings are appended to.
    tools, policy : path, optional
        Tool definitions and the policy, where the log does not hold them.
    tool_kinds : str or sequence of str
        What tools do, as ``NAME=read`` or ``NAME=write``.

    Returns
    -------
    Scorer
        An axis that was judged uncertain or not applicable, or whose verdict was lost, is unscored (NaN), which leaves
        it out of Inspect's metrics.

    Raises
    ------
    InputError
        No such judge or axis, or a file that cannot be read or written.
    """
    asked = [axes] if isinstance(axes, str) else list(axes)
    kinds = [tool_kinds] if isinstance(tool_kinds, str) else tool_kinds
    spec = judge if isinstance(judge, str) else ",".join(map(str, judge))
    context = load_context(tools=tools, policy=policy, tool_kinds=kinds)
    one_at_a_time = anyio.Lock()

    async def score(state: TaskState, target: Target) -> Score:
        run = context.fill(trajectory_of(state))
        table = await anyio.to_thread.run_sync(
            lambda: judge_trajectories([run], [spec], asked, progress=False, confirm=True)
        )
        every = ratings_of(table)
        if ratings is not None:
            async with one_at_a_time:
                await anyio.to_thread.run_sync(_append, Path(ratings), every)
        return score_of(run, every, [message.id or "" for message in state.messages])

    return score


def trajectory_of(state: TaskState) -> Trajectory:
    """The trajectory that reading the log would give of this sample."""
    events = transcript().events
    offers = [[tool.model_dump(mode="json") for tool in event.tools] for event in events if event.event == "model"]
    limits = [{"type": event.type} for event in events if event.event == "sample_limit"]
    sample = {
        "id": state.sample_id,
        "epoch": state.epoch,
        "uuid": state.uuid,
        "messages": [message.model_dump(mode="json", exclude_none=True) for message in state.messages],
        "output": state.output.model_dump(mode="json", exclude_none=True),
        "events": [{"event": "model", "tools": tools} for tools in offers],
        **({"limit": limits[-1]} if limits else {}),
    }
    return inspect_logs.trajectory_of(sample, {"task": None, "model": str(state.model)})


def score_of(run: Trajectory, ratings: Sequence[Rating], messages: Sequence[str]) -> Score:
    """Our ratings of a run as Inspect's score.

    Parameters
    ----------
    run : Trajectory
        Its steps name the messages that they come from (`source_index`).
    ratings : sequence of Rating
        One judge's, one for each axis.
    messages : sequence of str
        The ids of the sample's messages in their order.
    """
    cites: dict[int, Reference] = {}
    for step in run.steps:
        number = step.source_index
        if number is not None and number < len(messages) and messages[number]:
            cites[step.index] = Reference(type="message", cite=f"[M{number + 1}]", id=messages[number])
    cited = {step: cites[step] for rating in ratings for step in rating.cited_step_indices if step in cites}
    return Score(
        value={rating.question: score_value(rating) for rating in ratings},
        explanation="\n\n".join(_explanation(rating, cited) for rating in ratings),
        metadata={
            **score_metadata(run.id, ratings),
            "scanner_references": [each.model_dump() for each in {each.id: each for each in cited.values()}.values()],
        },
    )


def _explanation(rating: Rating, cited: dict[int, Reference]) -> str:
    sure = "" if rating.confidence is None else f" ({rating.confidence:.2f})"
    cites = dict.fromkeys(cited[step].cite or "" for step in rating.cited_step_indices if step in cited)
    return f"{rating.question}: {rating.verdict or rating.status}{sure}. {rating.rationale or ''} {' '.join(cites)}"


def _append(path: Path, ratings: Sequence[Rating]) -> None:
    with RatingsWriter(path) as writer:
        writer.append(ratings)
