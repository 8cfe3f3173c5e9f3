"""Judge specs, the providers that they name, and the named panels."""

from axisjudge.spec.judge_spec import (
    BUILT_IN,
    GROUP,
    PANELS,
    REMOTE,
    TRANSPORT,
    JudgeSpec,
    Provider,
    find_provider,
    panel,
    parse_specs,
    price_list_of,
    provider_names,
)

__all__ = [
    "BUILT_IN",
    "GROUP",
    "PANELS",
    "REMOTE",
    "TRANSPORT",
    "JudgeSpec",
    "Provider",
    "find_provider",
    "panel",
    "parse_specs",
    "price_list_of",
    "provider_names",
]
