"""What users rely on stays: names, options, fields of records, exit codes and files that public.json names.

With AXISJUDGE_PUBLIC=write in the environment it is written anew: what then leaves it is Breaking in CHANGELOG.md.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import axisjudge
from axisjudge import cli
from axisjudge.cli import app
from axisjudge.ratings import SCHEMA
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import home

KEPT = Path(__file__).with_name("public.json")
#: Packages whose `__all__` is public.
PACKAGES = ("studies", "readers", "ratings", "sources", "imports", "judges", "judging", "labels", "protocol")


def options_of(command: Any, name: str = "axisjudge") -> dict[str, list[str]]:
    """Each command by its words, with its arguments and long options."""
    found = {name: sorted(option for each in command.params for option in each.opts if not option.startswith("-h"))}
    for word, inner in getattr(command, "commands", {}).items():
        found |= options_of(inner, f"{name} {word}")
    return found


def fields_of(schema: dict[str, Any]) -> dict[str, list[str]]:
    """Fields by the record that has them, as the JSON Schema of `axisjudge schema` names them."""
    return {
        name: sorted(record.get("properties", {}))
        for name, record in {schema["title"]: schema, **schema.get("$defs", {})}.items()
        if "properties" in record
    }


def public() -> dict[str, dict[str, list[str]]]:
    names = {"axisjudge": sorted(axisjudge.__all__)}
    for package in PACKAGES:
        names[f"axisjudge.{package}"] = sorted(import_module(f"axisjudge.{package}").__all__)
    return {
        "names": names,
        "commands": options_of(typer.main.get_command(app)),
        "fields": {**fields_of(Trajectory.model_json_schema()), "ratings": list(SCHEMA)},
        "files": {"notebooks": sorted(path.name for path in (home() / "notebooks").glob("*.ipynb"))},
    }


def test_what_is_public_is_still_there() -> None:
    now = public()
    if os.environ.get("AXISJUDGE_PUBLIC") == "write":
        KEPT.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lost = [
        f"{kind}: {where}: {name}"
        for kind, places in json.loads(KEPT.read_text(encoding="utf-8")).items()
        for where, names in places.items()
        for name in names
        if name not in now[kind].get(where, ())
    ]
    assert lost == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_says_what_it_is(package: str) -> None:
    module = import_module(f"axisjudge.{package}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_exit_codes_are_those_of_the_reference() -> None:
    said = (Path(axisjudge.__file__).parent / "docs" / "reference.md").read_text(encoding="utf-8")
    codes = {line.split()[1] for line in said.splitlines() if line.startswith("| ") and line.split()[1].isdigit()}
    assert codes == {"0", "1", "2", "3", "4", "130"}
    assert all(f" {code} " in (cli.__doc__ or "") for code in codes)
