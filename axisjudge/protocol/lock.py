"""Model names that a provider moves from one model to another, as facts.

A dated id is one model for good. So is a Claude id of generation 4.6 or later, although it bears no date. A name that
is not known here is no known alias: it is recorded with the model that its replies name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, ClassVar

import polars as pl

from axisjudge.checks import InputError
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.prompt import BUDGET, INSTRUCTIONS, KEPT_AT_LEAST, build_prefix
from axisjudge.protocol import ledger
from axisjudge.protocol.ledger import ABSENT, ChangedField, changes, digest, read_json, write_json
from axisjudge.protocol.plan import AnalysisPlan
from axisjudge.protocol.split import find_split, read_split
from axisjudge.results import Result
from axisjudge.rubric.axes import Rubric, load_rubric
from axisjudge.spec.judge_spec import JudgeSpec, parse_specs, price_list_of
from axisjudge.trajectory import Step, ToolCall, ToolSchema, Trajectory
from axisjudge.verdict import AXES, Axis, verdict_schema
from axisjudge.workbench import home, own

READ_ON = "2026-11-22"
ANTHROPIC = "https://platform.claude.com/docs/en/about-claude/models/model-ids-and-versions"
#: The package lists the dated ids beside the undated names; names that end in -latest say what they are.
OPENAI = "the openai package 3.x for Python, openai/types/shared/chat_model.py"

#: From this generation on a Claude id bears no date and is pinned all the same.
_FIRST_PINNED = (4, 6)

_DATED: dict[str, tuple[str, dict[str, str | None]]] = {
    "anthropic": (
        ANTHROPIC,
        {
            "claude-haiku-4-5": "claude-haiku-4-5-20251001",
            "claude-opus-4-5": "claude-opus-4-5-20251101",
            "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
        },
    ),
    "openai": (
        OPENAI,
        {
            "gpt-4.1": "gpt-4.1-2025-04-14",
            "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14",
            "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
            "gpt-4o": None,  # three dated ids; which of them it stands for is not said there
            "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
            "gpt-5": "gpt-5-2025-08-07",
            "gpt-5-mini": "gpt-5-mini-2025-08-07",
            "gpt-5-nano": "gpt-5-nano-2025-08-07",
            "gpt-5.1": "gpt-5.1-2025-11-13",
            "gpt-5.2": "gpt-5.2-2025-12-11",
            "gpt-5.2-pro": "gpt-5.2-pro-2025-12-11",
            "gpt-5.4": "gpt-5.4-2026-03-05",  # the dated id is listed by @ai-sdk/openai 3.0.83
            "gpt-5.4-mini": "gpt-5.4-mini-2026-03-17",
            "gpt-5.4-nano": "gpt-5.4-nano-2026-03-17",
            "gpt-5.5": "gpt-5.5-2026-04-23",
            "o1": "o1-2024-12-17",
            "o3": "o3-2025-04-16",
            "o3-mini": "o3-mini-2025-01-31",
            "o4-mini": "o4-mini-2025-04-16",
        },
    ),
}


@dataclass(frozen=True)
class Alias(Result):
    """A name that moves, the dated id it stood for when this was read (None where no page says), and who says so."""

    _keys: ClassVar = {"alias": "name", "stands_for": "stands_for", "source": "source", "read_on": "read_on"}

    name: str
    stands_for: str | None
    source: str
    read_on: str = READ_ON


def alias_of(provider: str, model: str | None) -> Alias | None:
    """The known alias that `model` is with `provider`, or None.

    Examples
    --------
    >>> alias_of("openai", "gpt-5").stands_for
    'gpt-5-2025-08-07'
    >>> alias_of("anthropic", "claude-sonnet-4-6") is None  # dateless, and pinned by its provider
    True
    """
    source, dated = _DATED.get(price_list_of(provider) or "", ("", {}))
    if not model or not source:
        return None
    moves = model in dated or model.endswith("-latest") or (source == ANTHROPIC and _moved_claude(model))
    return Alias(model, dated.get(model), source) if moves else None


def _moved_claude(model: str) -> bool:
    """A Claude id of a generation before 4.6 without its date, which the provider calls an alias."""
    numbers = re.findall(r"\d+", model)
    version = tuple(int(number) for number in numbers if len(number) <= 2)
    return bool(version) and version < _FIRST_PINNED and not any(len(number) == 8 for number in numbers)


# The lock: what the judges see and what will be computed, frozen before the held-out side is opened.


FILE = "rubrics/lock.json"
NEXT = "axisjudge rubric lock"

#: How a judge is reached is nobody's business but this machine's, and changes no answer.
_TRANSPORT = ("timeout", "rpm", "key_env")


@dataclass(frozen=True)
class Status:
    """Whether the lock still holds: every field that changed since, or what is wrong with lock or ledger."""

    locked: bool
    changes: tuple[ChangedField, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.locked and not self.changes and not self.faults

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it does not hold, one sentence each."""
        if not self.locked and not self.faults:
            return ("nothing is locked",)
        return (*self.faults, *(f"changed since the lock: {change}" for change in self.changes))


def make_lock(
    judges: Sequence[str | JudgeSpec],
    plan: AnalysisPlan,
    *,
    versions: Mapping[str, str] | None = None,
    allow_alias: bool = False,
    ratings: pl.DataFrame | None = None,
    panels: Sequence[str | Path] = (),
) -> dict[str, Any]:
    """Lock rubrics, prompts, judges, split and plan: write rubrics/lock.json and an entry of the ledger.

    Warns of judges whose model is known to be shut down, and records that.

    Parameters
    ----------
    judges : sequence of str or JudgeSpec
        The judges of the held-out side, and no others.
    plan : AnalysisPlan
    versions : mapping of axis to rubric version, optional
        By default each axis's current rubric. All five axes are locked.
    allow_alias : bool
        Take model names that their provider moves; the lock then says so, with the models that answered.
    ratings : polars.DataFrame, optional
        Ratings on the open side: the models that answered to an alias are read from them.
    panels : sequence of path
        Fitted panels (`axisjudge panel fit`) that will speak of the held-out side; their judges must be locked too.

    Returns
    -------
    dict
        The lock as written.

    Raises
    ------
    InputError
        No split, a draft newer than a rubric of the plan's axes (where `versions` does not name it), an alias, a judge
        that only replays, a plan for more runs than the held-out side has; a panel fitted on held-out tasks, or
        one whose judges are not locked.
    LedgerError
        The ledger's chain is broken.
    """
    split = read_split()
    specs = parse_specs(judges)
    if not specs:
        raise InputError("judges", "a lock needs one judge at least")
    for truth in (spec.options["truth"] for spec in specs if "truth" in spec.options):  # a lock keeps its name alone
        if not Path(truth).is_file():
            raise InputError(str(truth), "no such file, and simulated judges know only planted truth")
    n_held_out = sum(map(len, split.held_out_tasks.values()))
    plan = plan if plan.n is not None else plan.model_copy(update={"n": n_held_out or None})
    if plan.n is not None and plan.n > n_held_out:
        raise InputError("plan.n", f"the held-out side has {n_held_out} runs", plan.n)
    rubrics: dict[Axis, Rubric] = {axis: load_rubric(axis, (versions or {}).get(axis)) for axis in AXES}
    from axisjudge.rubric.next_version import check_newest, check_versions

    check_versions(rubrics.values())
    check_newest(rubric for axis, rubric in rubrics.items() if axis in plan.axes and axis not in (versions or {}))
    lock = {
        "locked_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **_present(specs, rubrics, panels),
        "aliases": _aliases(specs, ratings, allow=allow_alias),
        "retirements": _retirements(specs),
        "plan": plan.model_dump(mode="json"),
    }
    _check_panels(panels, lock["judges"], split.held_out_tasks)
    ledger.append("lock", "lock", lock_sha256=digest(lock), data_sha256=split.data_sha256, lock=lock)
    write_json(own() / FILE, lock)
    return lock


def locked_rubrics() -> dict[str, tuple[str, str]]:
    """Version and hash of every rubric in the lock, by axis; nothing where there is no lock."""
    if not (home() / FILE).is_file():
        return {}
    return {axis: (entry["version"], entry["sha256"]) for axis, entry in read_lock()["rubrics"].items()}


def read_lock() -> dict[str, Any]:
    """The lock of the workbench as it stands in its file.

    Raises
    ------
    InputError
        There is none, or it is not JSON.
    """
    path = home() / FILE
    if not path.exists():
        raise InputError(FILE, "nothing is locked yet", cure=f"lock it: {NEXT}")
    lock: dict[str, Any] = read_json(path, FILE)
    return lock


def locked_judges(lock: Mapping[str, Any]) -> list[JudgeSpec]:
    """The judges in a lock, as they may be asked again."""
    return [JudgeSpec.model_validate(judge["spec"]) for judge in lock["judges"].values()]


def plan_of(lock: Mapping[str, Any]) -> AnalysisPlan:
    """The analysis plan in a lock."""
    return AnalysisPlan.of(lock.get("plan", {}), f"{FILE}: plan")


def status() -> Status:
    """Compare the lock with its copy in the ledger, and with what is there now."""
    try:
        entries = ledger.read_ledger()
    except ledger.LedgerError as error:
        return Status((home() / FILE).exists(), faults=(str(error),))
    locked = [entry for entry in entries if entry.kind == "lock"]
    if not (home() / FILE).exists():
        gone = (f"{FILE} was removed; the ledger's line {locked[-1].number} has it",) if locked else ()
        return Status(False, faults=gone)
    try:
        lock = read_lock()
        if not locked:
            return Status(True, faults=(f"{ledger.FILE} has no entry of this lock: entries were removed",))
        if edited := tuple(changes(locked[-1].lock, lock)):
            return Status(True, edited)
        return Status(True, tuple(_since(lock)))
    except (ValueError, LookupError, TypeError) as error:  # also what this version of the package cannot read
        why = str(error) if isinstance(error, ValueError) else f"{FILE}: another version wrote it; {error!r}"
        return Status(True, faults=(" ".join(why.split()),))


def _since(lock: dict[str, Any]) -> list[ChangedField]:
    """What is there now against the lock."""
    rubrics: dict[Axis, Rubric] = {axis: load_rubric(axis, lock["rubrics"][axis]["version"]) for axis in AXES}
    panels = [panel["file"] for panel in lock.get("panels", {}).values()]
    now = _present(locked_judges(lock), rubrics, panels)
    return list(changes({key: lock.get(key, ABSENT) for key in now}, now))


def _present(
    specs: Sequence[JudgeSpec], rubrics: Mapping[Axis, Rubric], panels: Sequence[str | Path] = ()
) -> dict[str, Any]:
    """All that a lock freezes but the plan, worked out from what is there now."""
    from axisjudge import __version__
    from axisjudge.judges import make_judges

    split = find_split()
    known = [JudgeSpec.model_validate(_lasting(spec)) for spec in specs]
    return {
        "package_version": __version__,
        "split": {**split.rule, "sha256": digest(split.rule)} if split else None,
        "rubrics": {
            axis: {"version": rubric.version, "sha256": rubric.sha256}
            | ({"chosen_draft": rubric.chosen_draft} if rubric.chosen_draft else {})
            for axis, rubric in rubrics.items()
        },
        "instructions_sha256": digest(INSTRUCTIONS),
        "verdict_schema_sha256": digest(verdict_schema()),
        "truncation": {"budget": BUDGET, "kept_at_least": KEPT_AT_LEAST, "probe_sha256": truncation_sha256()},
        "judges": {
            judge.rater: {
                "spec": spec.model_dump(mode="json"),
                "mechanism": judge.mechanism,
                "version": judge.version,
                "prompt_sha256": prompt_hashes(judge, rubrics),
            }
            for spec, judge in zip(known, make_judges(known), strict=True)
        },
        **({"panels": dict(map(_locked_panel, panels))} if panels else {}),
    }


def _locked_panel(path: str | Path) -> tuple[str, dict[str, Any]]:
    """The rater of a fitted panel's ratings, with its file (as seen from the workbench) and the hash of the fit."""
    file = home() / path
    if not file.is_file():
        raise InputError(str(path), "no such panel file", cure="write it again: axisjudge panel fit")
    if not file.resolve().is_relative_to(home().resolve()):
        raise InputError(str(path), "must stand in the workbench, where the lock finds it again", cure="copy it there")
    name = file.resolve().relative_to(home().resolve())
    return f"panel:{_panel(file)['name']}", {"file": name.as_posix(), "sha256": sha256(file.read_bytes()).hexdigest()}


def _panel(file: Path) -> dict[str, Any]:
    fields = read_json(file, str(file))
    if not isinstance(fields, dict) or not {"name", "judges", "weights", "tuned_on"} <= fields.keys():
        raise InputError(str(file), "is not a fitted panel", cure="write one: axisjudge panel fit")
    return fields


def _check_panels(panels: Sequence[str | Path], judges: Mapping[str, Any], held_out: Mapping[str, Any]) -> None:
    """A panel may speak of held-out runs if it was not tuned on them, and if its judges are locked too."""
    for path in panels:
        panel = _panel(home() / path)
        asked = [name for name, weight in zip(panel["judges"], panel["weights"], strict=True) if weight]
        if strangers := sorted(set(asked) - set(judges)):
            raise InputError(str(path), "asks judges that are not locked", strangers[0], "lock them too: --judge")
        if tuned := sorted(set(panel["tuned_on"]) & set(held_out)):
            raise InputError(
                str(path), f"was fitted on {len(tuned)} held-out tasks", tuned[0], "fit it on the open side"
            )


def _lasting(spec: JudgeSpec) -> dict[str, Any]:
    """A spec without transport and without folders of this machine."""
    if spec.provider == "replay":
        cure = "lock the judge that it was recorded from; its ratings may then be replayed"
        raise InputError(f"judge {spec.rater}", "a replay cannot be locked", cure=cure)
    options = {key: value for key, value in spec.options.items() if key not in _TRANSPORT}
    names = {key: value.name if isinstance(value, PurePath) else value for key, value in options.items()}
    return {**spec.model_dump(), "options": names}


def _aliases(specs: Sequence[JudgeSpec], ratings: pl.DataFrame | None, *, allow: bool) -> dict[str, Any]:
    """The judges whose model is an alias, each with who says so and which models answered."""
    aliases: dict[str, Any] = {}
    for spec in specs:
        alias = alias_of(spec.provider, spec.model)
        if alias is None:
            continue
        if not allow:
            now = f"; on {alias.read_on} it stood for {alias.stands_for}" if alias.stands_for else ""
            rule = f"{alias.name} is an alias that its provider moves{now}"
            cure = "name the dated id, or allow it with --allow-alias"
            raise InputError(f"judge {spec.rater}", rule, cure=cure)
        aliases[spec.rater] = alias.to_dict() | {"returned_models": _returned(spec.rater, ratings)}
    return aliases


def _retirements(specs: Sequence[JudgeSpec]) -> dict[str, Any]:
    """The judges whose model is known to be shut down; warns of each."""
    from axisjudge.judges.lifecycle import known_retirement, warn_of

    retirements = {spec.rater: known_retirement(spec.provider, spec.model) for spec in specs}
    warn_of(retirements.values())
    return {rater: retirement.to_dict() for rater, retirement in retirements.items() if retirement}


def _returned(rater: str, ratings: pl.DataFrame | None) -> list[str]:
    if ratings is None:
        return []
    own = ratings.filter(pl.col("rater") == rater)
    return [str(model) for model in own["returned_model"].drop_nulls().unique().sort()]


#: One of everything that the prompt renders in a way of its own.
PROBE = Trajectory(
    id="probe",
    source="probe",
    agent="an agent",
    agent_family="a family",
    task_id="a task",
    domain="a domain",
    reward=1.0,
    termination="user_stop",
    policy="Ask before you change anything.",
    tools=(
        ToolSchema(name="find", description="Find a record.", kind="read", parameters={"type": "object"}),
        ToolSchema(name="change", kind="write"),
    ),
    steps=(
        Step(index=0, role="system", content="Be of service."),
        Step(index=1, role="user", content="Please change record 7 to blue."),
        Step(
            index=2,
            role="assistant",
            content="One moment.",
            tool_calls=(
                ToolCall(id="a", name="find", arguments={"number": 7, "exact": True}),
                ToolCall(id="b", name="change", arguments="{blue", arguments_error="not JSON"),
            ),
        ),
        Step(index=3, role="tool", tool_call_id="a", tool_name="find", content="record 7: red. " * 400),
        Step(index=4, role="tool", tool_call_id="b", tool_name="change", content="cannot read that", error=True),
        Step(index=5, role="user", tool_calls=(ToolCall(id="c", name="check", requestor="user"),)),
        Step(index=6, role="tool", tool_call_id="c", content="checked", error=False),
        Step(index=7, role="assistant"),
    ),
    meta={"trial": 0},
)

#: Short enough that the long result is cut.
PROBE_BUDGET = KEPT_AT_LEAST + 2_000


def truncation_sha256() -> str:
    """Hash of the probe shortened to fit: how the record is rendered, and how what is too long is cut."""
    prefix = build_prefix(PROBE, budget=PROBE_BUDGET)
    return sha256(f"{prefix.text}{prefix.cuts}{prefix.excess}".encode()).hexdigest()


def prompt_hashes(judge: Judge, rubrics: Rubrics) -> dict[str, str]:
    """Hash of all that a judge is shown of the probe, by axis; a joint judge is shown all axes at once.

    Empty for judges that are shown no prompt: a program, a noise model (which knows planted truth alone).
    """
    if judge.kind == "simulated" or not judge.reads_rubrics:
        return {}
    if judge.joint:
        return {"all": judge.prompt_sha256(PROBE, rubrics)}
    return {axis: judge.prompt_sha256(PROBE, {axis: rubric}) for axis, rubric in rubrics.items()}
