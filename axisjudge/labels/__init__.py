"""Human labels: published label sets as ratings, beside the judges that were asked the same; loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisjudge.labels.agentprocessbench import read_agentprocessbench
    from axisjudge.labels.agentrx import read_agentrx

__all__ = ["read_agentprocessbench", "read_agentrx"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'axisjudge.labels' has no attribute {name!r}")
    return getattr(import_module(f"axisjudge.labels.{name.removeprefix('read_')}"), name)
