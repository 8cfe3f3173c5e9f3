"""Verdicts and ratings: what a judge may say of an axis, and the one record in which every rater's word is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

Axis = Literal["tool_selection", "argument_validity", "sequencing", "result_interpretation", "termination"]
Word = Literal["correct", "incorrect", "uncertain", "not_applicable"]
Status = Literal["ok", "refused", "truncated", "parse_error", "api_error"]
RaterKind = Literal["llm", "decision_model", "rules", "simulated", "planted", "human", "reference"]
ConfidenceSource = Literal["verbalized", "token_probability", "native", "rule", "simulated", "human"]

AXES: tuple[Axis, ...] = get_args(Axis)
VERDICTS: tuple[Word, ...] = get_args(Word)
STATUSES: tuple[Status, ...] = get_args(Status)
RATER_KINDS: tuple[RaterKind, ...] = get_args(RaterKind)
#: Flag of a person's label without a verdict.
OPEN = "open"
#: The question under which failures stand that are on no axis of the agent's: the user's, the environment's.
NO_AXIS = "no_axis"

SCHEMA_VERSION = 1

UnitInterval = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)]

#: A whole number that a column of a ratings table holds.
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class Verdict(BaseModel):
    """What a judge returns for one axis of one trajectory; the JSON schema that providers enforce is made from it.

    A confidence outside [0, 1], an unknown word, a missing or an extra field is a parse error, never mended; of a reply
    whose confidence is in words the rest counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rationale: str = Field(description="Why, in a few sentences that refer to the cited steps by their index.")
    cited_step_indices: list[StrictInt] = Field(description="Indices of the steps that ground the verdict, as shown.")
    verdict: Word = Field(description="The verdict on this axis alone.")
    confidence: UnitInterval = Field(description="Your own confidence in this verdict, from 0 to 1.")


def verdict_schema() -> dict[str, Any]:
    """JSON schema of `Verdict`: all four fields required, nothing else allowed.

    Bounds of numbers are left out because not every provider's strict mode takes them; they are checked on our side.
    """
    schema = Verdict.model_json_schema()
    for field in schema["properties"].values():
        for keyword in ("title", "minimum", "maximum"):
            field.pop(keyword, None)
    return {key: schema[key] for key in ("type", "properties", "required", "additionalProperties")}


def check_citations(cited: Iterable[int], n_steps: int) -> list[int]:
    """The cited indices that do not exist in a trajectory of `n_steps` steps (hallucinated citations), in order."""
    return [index for index in cited if not 0 <= index < n_steps]


class Rating(BaseModel):
    """One rater's word on one question about one item; one JSON line. Field names are a contract.

    Only status ``ok`` carries a verdict. A person is a rater too, and so is a program.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # what was rated
    schema_version: int = SCHEMA_VERSION
    trajectory_id: str
    step_index: Whole | None = None
    interaction_id: str | None = None
    item_id: str = ""
    task_id: str | None = None
    cluster_id: str
    agent: str | None = None
    domain: str | None = None
    question: str
    scale: str = "verdict"
    split: str | None = None
    # by whom
    rater: str
    rater_kind: RaterKind
    family: str
    model: str | None = None
    returned_model: str | None = None
    mechanism: str | None = None
    rater_version: str | None = None
    rubric_version: str | None = None
    rubric_sha256: str | None = None
    prompt_sha256: str | None = None
    repeat: Whole = 0
    run_id: str | None = None
    call_id: str | None = None
    # what came
    status: Status = "ok"
    verdict: str | None = None
    value: float | None = None
    confidence: UnitInterval | None = None
    confidence_source: ConfidenceSource | None = None
    probabilities: dict[str, float] | None = None
    cited_step_indices: list[Whole] = Field(default_factory=list)
    invalid_citations: list[Whole] = Field(default_factory=list)
    rationale: str | None = None
    flags: list[str] = Field(default_factory=list)
    # what it cost (a call's cost is split evenly over its ratings)
    input_tokens: Whole | None = None
    cached_tokens: Whole | None = None
    output_tokens: Whole | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    created_at: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _join_item_id(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and not fields.get("item_id") and "trajectory_id" in fields:
            fields = {
                **fields,
                "item_id": item_id(fields["trajectory_id"], fields.get("step_index"), fields.get("interaction_id")),
            }
        return fields

    @model_validator(mode="after")
    def _only_ok_carries_a_verdict(self) -> Rating:
        answered = self.verdict is not None or self.value is not None
        if answered != (self.status == "ok"):
            raise ValueError(f"status {self.status!r} {'carries no' if answered else 'needs a'} verdict")
        if self.scale == "verdict" and self.verdict is not None and self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}; found {self.verdict!r}")
        return self


def item_id(trajectory_id: str, step_index: int | None = None, interaction_id: str | None = None) -> str:
    """What was rated, in one string: the trajectory, or ``trajectory#step``, or ``trajectory@interaction``."""
    if step_index is not None:
        return f"{trajectory_id}#{step_index}"
    return trajectory_id if interaction_id is None else f"{trajectory_id}@{interaction_id}"


#: The fields that say which rating this is; of two lines that agree on all of them the later one wins.
#: Judge parameters stand in `rater`; `prompt_sha256` covers all that the rater was shown.
IDENTITY = ("item_id", "question", "rater", "rater_version", "prompt_sha256", "repeat")


def identity(rating: Rating) -> tuple[Any, ...]:
    """The identity of a rating, for resume and comparison."""
    return tuple(getattr(rating, field) for field in IDENTITY)
