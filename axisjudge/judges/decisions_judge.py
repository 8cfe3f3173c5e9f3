"""``openai-decisions:MODEL``: all axes as choice questions over one input, in one call, with probabilities.

A decision model gives no rationale and cites no steps. Its confidence is the probability of the word it chose.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from axisjudge.judges.answer import ONE_CALL, Answer, all_lost, lost
from axisjudge.judges.base import Rubrics
from axisjudge.judges.openai_judge import cached_prefix, shutdown_of, tokens_of
from axisjudge.judges.prompt import INSTRUCTIONS, Prefix, question
from axisjudge.judges.remote import Body, Received, RemoteJudge, Shutdown
from axisjudge.spec import TRANSPORT, Provider
from axisjudge.verdict import VERDICTS, Axis, RaterKind

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Decision, Model


class DecisionsJudge(RemoteJudge):
    """A decision model of OpenAI; each question may be refused on its own."""

    kind: RaterKind = "decision_model"
    joint: bool = True
    mechanisms: ClassVar[tuple[str, ...]] = ("decisions",)
    price_list: ClassVar[str | None] = "openai"

    def axes_body(self, prefix: Prefix, n_steps: int, rubrics: Rubrics) -> Body:
        choices = [{"value": word, "description": f"{word}, as the rubric defines it"} for word in VERDICTS]
        return {
            "model": self.model,
            "input": [
                {"type": "message", "role": "developer", "content": INSTRUCTIONS},
                {"type": "message", "role": "user", "content": [cached_prefix(prefix.text)]},
            ],
            "questions": [
                {
                    "type": "choice",
                    "name": axis,
                    "instructions": question(rubric, n_steps),
                    "choices": choices,
                }
                for axis, rubric in rubrics.items()
            ],
            "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
        }

    async def send(self, client: AsyncOpenAI, body: Body) -> Decision:
        return await client.decisions.create(**body)

    def lifecycle(self, model: Model) -> Shutdown | None:
        return shutdown_of(model)

    def read(self, response: Decision, form: str) -> Received:
        return Received(
            content=[_Named(answer.name, _choice(answer)) for answer in response.answers],
            model=response.model,
            call_id=response._request_id,
            tokens=tokens_of(response.usage),
            flags=(ONE_CALL,),
        )

    def axes_answers(self, said: list[_Named], rubrics: Rubrics) -> dict[Axis, Answer]:
        if len(said) != len(rubrics):
            return all_lost(rubrics, "parse_error", f"{len(rubrics)} questions, {len(said)} answers")
        return {axis: _of_axis(axis, each) for axis, each in zip(rubrics, said, strict=True)}


class _Named(NamedTuple):
    name: str | None
    answer: Answer


def _of_axis(axis: Axis, named: _Named) -> Answer:
    if named.name in (axis, None):
        return named.answer
    return lost("parse_error", f"answers come in question order; expected {axis}, found {named.name!r}"[:200])


def _choice(answer: Any) -> Answer:
    if answer.type == "refusal":
        return lost("refused", "the model declined this question")
    if answer.type != "choice":
        return lost("parse_error", f"expected a choice, found {answer.type!r}"[:200])
    probabilities = {each.value: each.probability for each in answer.probabilities}
    if answer.choice not in VERDICTS or set(probabilities) != set(VERDICTS):
        found = sorted(map(str, {answer.choice, *probabilities}))
        return lost("parse_error", f"choices must be {', '.join(VERDICTS)}; found {found}"[:200])
    if not all(_is_probability(value) for value in probabilities.values()):
        return lost("parse_error", f"probabilities must lie in [0, 1]; found {probabilities}"[:200])
    return Answer(
        status="ok",
        verdict=answer.choice,
        confidence=float(probabilities[answer.choice]),
        confidence_source="native",
        probabilities={word: float(probabilities[word]) for word in VERDICTS},
    )


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= 1


PROVIDER = Provider(DecisionsJudge, TRANSPORT, family="openai", price_list=DecisionsJudge.price_list)
