"""AgentRx's variant of tau-bench: each message carries its own 1-based index, and a run has ``records``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers import tau_bench
from axisjudge.readers.messages import Found

FORMAT = "agentrx"


def recognise(value: Any) -> bool:
    """Whether the JSON value holds tau-bench runs in AgentRx's variant."""
    if not tau_bench.recognise(value):
        return False
    first = value[0] if isinstance(value, list) else value
    return "records" in first


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The runs of an AgentRx file; the messages' own index becomes each step's `source_index`."""
    return tau_bench.read_runs(value, where, FORMAT)
