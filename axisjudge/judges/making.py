"""Making the judges of a run: of specs, and of judges that are given as themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from axisjudge.checks import InputError, listed
from axisjudge.judges.answer import reason_of
from axisjudge.judges.base import Judge
from axisjudge.judges.plugged import FunctionJudge
from axisjudge.spec.judge_spec import BUILT_IN, JudgeSpec, find_provider, parse_specs, provider_names
from axisjudge.verdict import RATER_KINDS

#: How a judge may be given: as a spec, or as itself.
JudgeLike = str | JudgeSpec | Judge


def make_judges(judges: Sequence[JudgeLike]) -> list[Judge]:
    """The judges of a run, in order: one for each spec, a ``replay`` spec one for each rater recorded in its file.

    A judge that is given as itself is taken as it is; a `FunctionJudge` with the version that its source has now.

    Raises
    ------
    InputError
        A spec cannot be read, a profile, a mechanism or a file does not exist, a plug-in cannot make its judge;
        something that is no judge; two judges of one name, or one that bears a name which a spec gives to another.
        Keys are looked for later, by `Judge.prepare`.
    """
    listed("judges", judges, JudgeSpec, Judge)
    given = [_checked(judge) if not isinstance(judge, str | JudgeSpec) else judge for judge in judges]
    specs = iter(parse_specs([judge for judge in given if not isinstance(judge, Judge)]))
    made: list[Judge] = []
    for judge in given:
        made += [_owning_its_name(judge)] if isinstance(judge, Judge) else judges_of(next(specs))
    own = Counter(judge.rater for judge in made if judge.spec.provider != "replay")
    if twice := [name for name, count in own.items() if count > 1]:
        raise InputError("judges", "a judge may be named once", twice[0], "give each judge a name of its own")
    return made


def in_one_call(judges: Sequence[JudgeLike]) -> list[JudgeLike]:
    """The same judges, those that write asked about all axes of a run in one call (option ``one_call``).

    Judges that answer all axes together anyway, and those that are not asked over a wire, stay as they are.
    """
    listed("judges", judges, JudgeSpec, Judge)
    return [judge if isinstance(judge, Judge) else _jointly(judge) for judge in judges]


def _jointly(judge: str | JudgeSpec) -> JudgeSpec:
    spec = JudgeSpec.parse(judge) if isinstance(judge, str) else judge
    if "one_call" not in find_provider(spec.provider).options:
        return spec
    return spec.model_copy(update={"options": {**spec.options, "one_call": True}})


def judges_of(spec: JudgeSpec) -> list[Judge]:
    """The judge of a spec, or all of them where it names several.

    Raises
    ------
    InputError
        As `make_judges` does.
    """
    judges = _made(spec)
    for judge in judges:
        if spec.provider not in BUILT_IN and _head(judge) != spec.provider:
            _check_name(judge)
    return judges


def _made(spec: JudgeSpec) -> list[Judge]:
    provider = find_provider(spec.provider)
    try:
        made = provider.make(spec)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"judge {spec.rater}", f"its provider cannot make it ({reason_of(error)})") from error
    return [_checked(judge) for judge in (made if isinstance(made, list | tuple) else [made])]


def _checked(judge: object) -> Judge:
    """What is given as a judge, if it is one and is whole."""
    if not isinstance(judge, Judge):
        cure = 'wrap a function by @axisjudge.judge_function(family="..."), or make an instance of an axisjudge.Judge'
        raise InputError("judges", "must be specs or judges", judge, cure)
    where = f"judge {type(judge).__name__}"
    if not isinstance(getattr(judge, "spec", None), JudgeSpec):
        raise InputError(where, "has no spec", cure="call super().__init__(spec) when it is made")
    if getattr(judge, "kind", None) not in RATER_KINDS:
        raise InputError(where, f"kind must be one of {', '.join(RATER_KINDS)}", getattr(judge, "kind", None))
    for name in ("rater", "family"):
        if not isinstance(text := getattr(judge, name), str) or not text:
            raise InputError(where, f"{name} must be a text that is not empty", text)
    return judge


def _owning_its_name(judge: Judge) -> Judge:
    """A judge that is given as itself, unless its name is one that a spec gives to another judge.

    Ratings of both would stand under one name, and count as one judge's.
    """
    if judge.spec.provider == "replay":  # it bears the name of the judge that it replays, and says so
        return judge
    if isinstance(judge, FunctionJudge):
        judge = judge.as_it_is_now()
    _check_name(judge)
    return judge


def _check_name(judge: Judge) -> None:
    head = _head(judge)
    if head not in provider_names():
        return
    others = _named(judge.rater, judge.family)
    differs = [other for other in others if type(other) is not type(judge) or other.version != judge.version]
    if differs or (not others and head not in BUILT_IN):  # what a plug-in would name so is its own affair
        rule = f"bears a name that specs give to judges of {head}"
        raise InputError(f"judge {judge.rater}", rule, cure="give it a name of its own")


def _head(judge: Judge) -> str:
    """What would be the provider, were the judge's name a spec."""
    return judge.rater.partition(",")[0].partition(":")[0]


def _named(rater: str, family: str) -> list[Judge]:
    """The judges that a spec gives this name; none where no spec reads like it."""
    for text in (rater, f"{rater},family={family}"):
        with suppress(InputError):
            return _made(JudgeSpec.parse(text))
    return []
