"""The ratings that a reply yields."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from axisjudge.judges.answer import Answer, Reply, fault_of, lost, question_and_interaction
from axisjudge.judges.redaction import keepable
from axisjudge.judging.plan import Call
from axisjudge.verdict import Rating, check_citations

#: What a rating keeps of an answer: characters of its reason, steps that it cites, characters of a name.
MOST_RATIONALE, MOST_CITED, MOST_NAME = 20_000, 500, 200
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
#: What a rating takes over from an answer as it is.
_TAKEN = ("status", "verdict", "value", "confidence", "confidence_source", "probabilities", "rationale")


def ratings_of(call: Call, reply: Reply, run_id: str) -> list[Rating]:
    """The ratings that a reply yields for the points still wanted; what the call cost is split evenly over all."""
    share = len(call.rubrics)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    ratings = []
    for position, point in enumerate(call.rubrics):
        if point not in call.wanted:
            continue
        cost = {
            **{name: _share(getattr(reply, name), share, position) for name in _TOKENS},
            "cost_usd": None if reply.cost_usd is None else reply.cost_usd / share,
            "latency_s": reply.latency_s,
            "created_at": now,
        }
        names = {name: getattr(reply, name) for name in ("call_id", "returned_model")}
        of_call = {"run_id": run_id, **{name: each and each[:MOST_NAME] for name, each in names.items()}}
        known = {**_rated(call, point), **_by_whom(call, point), **cost, **of_call}
        answer = _kept_of(reply.answers[point])
        try:
            ratings.append(Rating(**known, **_answered(call, point, reply, answer)))
        except (ValidationError, TypeError) as error:  # a judge of somebody's own said what no rating may hold
            reason = fault_of(error) if isinstance(error, ValidationError) else str(error)
            unreadable = lost("parse_error", keepable(reason))
            ratings.append(Rating(**known, **_answered(call, point, reply, unreadable)))
    return ratings


def _kept_of(answer: Answer) -> Answer:
    """An answer of a length that a file can hold: what is cut is said in its flags."""
    said, cited = answer.rationale or "", answer.cited_step_indices
    flags = [*answer.flags]
    if len(said) > MOST_RATIONALE:
        flags.append(f"rationale_cut:{len(said)}")
        answer = replace(answer, rationale=said[:MOST_RATIONALE] + " [cut]")
    if len(cited) > MOST_CITED:
        flags.append(f"citations_cut:{len(cited)}")
        answer = replace(answer, cited_step_indices=tuple(dict.fromkeys(cited))[:MOST_CITED])
    return replace(answer, flags=tuple(flags)) if len(flags) > len(answer.flags) else answer


def _rated(call: Call, point: str) -> dict[str, Any]:
    """What was rated."""
    trajectory = call.trajectory
    question, interaction = question_and_interaction(point)
    return {
        "trajectory_id": trajectory.id,
        "interaction_id": interaction,
        **{name: getattr(trajectory, name) for name in ("task_id", "cluster_id", "agent", "domain")},
        "question": question,
        "scale": call.inquiry.scale,
        "split": call.stamp.split,
    }


def _by_whom(call: Call, point: str) -> dict[str, Any]:
    """Who rated it, by which rubric and prompt."""
    judge, rubric = call.judge, call.rubrics[point]
    return {
        "rater": judge.rater,
        "rater_kind": judge.kind,
        **{name: getattr(judge, name) for name in ("family", "model", "mechanism")},
        "rater_version": judge.version,
        "rubric_version": rubric.version if judge.reads_rubrics else None,
        "rubric_sha256": rubric.sha256 if judge.reads_rubrics else None,
        "prompt_sha256": call.prompt_sha256,
        "repeat": call.repeat,
    }


def _answered(call: Call, point: str, reply: Reply, answer: Answer) -> dict[str, Any]:
    """What came, with what the run finds out about it."""
    invalid = check_citations(answer.cited_step_indices, len(call.trajectory.steps))
    flags = [*call.stamp.flags, *call.inquiry.flags_of(point), *reply.flags, *answer.flags]
    flags += ["citation_out_of_range"] if invalid else []
    return {
        **{name: getattr(answer, name) for name in _TAKEN},
        "cited_step_indices": list(answer.cited_step_indices),
        "invalid_citations": invalid,
        "flags": list(dict.fromkeys(flags)),  # a replayed rating brings its own
    }


def _share(tokens: int | None, share: int, position: int) -> int | None:
    """An even share of a whole number; the remainder goes to the first points, so that the shares of a call add up."""
    if tokens is None:
        return None
    whole, rest = divmod(tokens, share)
    return whole + (position < rest)
