"""Judge specs, the providers that they name, and the named panels."""

from axisjudge.spec.judge_spec import PANELS, JudgeSpec, Provider, parse_specs

__all__ = ["PANELS", "JudgeSpec", "Provider", "parse_specs"]
