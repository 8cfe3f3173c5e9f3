"""What the user supplies: `--tools` in all its forms, `--policy`, `--agent`; and that the source always comes first."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, results, simulation, tau_bench_run, write

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories
from axisjudge.readers.context import load_tools
from axisjudge.trajectory import ToolSchema

SCHEMA = {"type": "object", "properties": {"parcel_id": {"type": "string"}}, "required": ["parcel_id"]}
EXPECTED = ToolSchema(name="find_parcel", description="Find it.", parameters=SCHEMA)


@pytest.mark.parametrize(
    "form",
    [
        [
            {
                "type": "function",
                "function": {"name": "find_parcel", "description": "Find it.", "parameters": SCHEMA},
            }
        ],
        [{"type": "function", "name": "find_parcel", "description": "Find it.", "parameters": SCHEMA, "strict": True}],
        [{"name": "find_parcel", "description": "Find it.", "input_schema": SCHEMA}],
        {"tools": [{"name": "find_parcel", "description": "Find it.", "inputSchema": SCHEMA}]},
        {"find_parcel": {"name": "find_parcel", "doc": "Find it.", "params": SCHEMA, "returns": {}}},
    ],
    ids=["openai chat", "openai responses", "anthropic", "mcp", "tau2 tool_defs"],
)
def test_forms_of_tool_lists(tmp_path: Path, form: Any) -> None:
    assert load_tools(write(tmp_path / "tools.json", form)) == {None: (EXPECTED,)}


def test_the_form_by_domain_with_short_parameters(tmp_path: Path) -> None:
    short = {
        "source": "a note",
        "parcels": [
            {
                "name": "move",
                "kind": "write",
                "parameters": {"parcel_id": "string", "hall": {"enum": ["7", "9"]}, "how": "Carriage"},
                "required": ["parcel_id"],
            },
            {"name": "ponder", "kind": "think", "parameters": {}, "required": []},
        ],
        "letters": [],
    }
    by_domain = load_tools(write(tmp_path / "tools.json", short))
    assert by_domain.keys() == {"parcels", "letters"}
    move, ponder = by_domain["parcels"]
    assert (move.kind, ponder.kind) == ("write", "generic")
    assert move.parameters == {
        "type": "object",
        "properties": {
            "parcel_id": {"type": "string"},
            "hall": {"enum": ["7", "9"]},
            "how": {"description": "Carriage"},
        },
        "required": ["parcel_id"],
    }
    assert ponder.parameters == {}


def test_the_shared_tools_file(shared_data: Path) -> None:
    by_domain = load_tools(shared_data / "context" / "tools.json")
    assert {domain: len(tools) for domain, tools in by_domain.items()} == {"retail": 16, "airline": 14, "telecom": 13}
    kinds = [tool.kind for tools in by_domain.values() for tool in tools]
    assert (kinds.count("read"), kinds.count("write"), kinds.count("generic")) == (19, 19, 5)


def test_tools_go_to_their_domain_and_others_are_told(tmp_path: Path) -> None:
    tools = write(tmp_path / "tools.json", {"parcels": [{"name": "find_parcel", "parameters": {}}]})
    parcels = write(tmp_path / "a.json", results(simulation(0)))
    letters = write(tmp_path / "b.json", results(simulation(1), simulation(2), domain_name="letters"))
    unknown = write(tmp_path / "c.json", [tau_bench_run()])
    reading = read_trajectories(parcels, letters, unknown, tools=tools)
    assert [run.tools is not None for run in reading.trajectories] == [True, False, False, False]
    assert [(Path(w.file).name, w.rule) for w in reading.warnings] == [
        ("b.json", "the tools file has nothing for the domain"),
        ("c.json", "the tools file has nothing for the domain"),
    ]
    assert reading.warnings[1].detail == "not stated (name it with --domain), here and further down"
    named = read_trajectories(parcels, unknown, domain="parcels", tools=tools)
    assert [run.tools is not None for run in named.trajectories] == [True, True]
    chosen = read_trajectories(unknown, tools=f"{tools}#parcels")
    assert chosen.trajectories[0].tools is not None
    assert chosen.warnings == ()


def test_what_the_source_says_comes_first(tmp_path: Path) -> None:
    definitions = {"own": {"name": "own", "doc": "", "params": None}}
    file = write(tmp_path / "r.json", results(simulation(), tool_defs=definitions))
    tools = write(tmp_path / "tools.json", [{"name": "other"}])
    policy = tmp_path / "policy.md"
    policy.write_text("Be loud.\n")
    (run,) = read_trajectories(file, agent="somebody", tools=tools, policy=policy).trajectories
    assert (run.agent, [tool.name for tool in run.tools or ()], run.policy) == ("gpt-4.1-mini", ["own"], "Be brief.")


def test_a_domain_that_is_named_keeps_tasks_apart_and_replaces_none(tmp_path: Path) -> None:
    unknown = write(tmp_path / "c.json", [tau_bench_run(task_id=3)])
    parcels = write(tmp_path / "a.json", results(simulation(3)))
    assert read_trajectories(unknown).trajectories[0].cluster_id == "3"
    first, second = read_trajectories(parcels, unknown, domain="letters").trajectories
    assert (first.domain, second.domain, second.cluster_id) == ("parcels", "letters", "letters/3")


def test_what_is_supplied_changes_no_id(tmp_path: Path) -> None:
    file = write(tmp_path / "chat.json", chat())
    policy = tmp_path / "policy.md.gz"
    policy.write_bytes(gzip.compress("Sei höflich.\n".encode()))
    (plain,) = read_trajectories(file).trajectories
    (full,) = read_trajectories(file, agent="qwen3-8b", policy=policy).trajectories
    assert full.id == plain.id
    assert (full.agent, full.agent_family, full.policy) == ("qwen3-8b", "qwen", "Sei höflich.\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"source": "nothing"}', "holds no tools"),
        ("7", "holds no tools"),
        ('[{"description": "nameless"}]', r"\[0\]\.name: must be text"),
        ('{"parcels": [7]}', r"parcels\[0\]: must be an object"),
        ('[{"name": "a"}, {"name": "a"}]', "each tool must be there once"),
        ('[{"name": "a"', "cut off"),
        ("tools:\n- a\n", "is not JSON"),
    ],
)
def test_bad_tools_files(tmp_path: Path, content: str, message: str) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_trajectories(write(tmp_path / "chat.json", chat()), tools=tools)
    assert str(caught.value).startswith(f"--tools {tools}")


def test_an_unknown_domain_of_the_tools_file(tmp_path: Path) -> None:
    tools = write(tmp_path / "tools.json", {"parcels": [{"name": "a"}]})
    with pytest.raises(InputError, match="did you mean 'parcels'"):
        load_tools(f"{tools}#parcel")


def test_missing_and_unreadable_files_are_named(tmp_path: Path) -> None:
    file = write(tmp_path / "chat.json", chat())
    with pytest.raises(InputError, match=r"--tools .*none\.json: cannot be read"):
        read_trajectories(file, tools=tmp_path / "none.json")
    with pytest.raises(InputError, match=r"--policy .*none\.md: cannot be read"):
        read_trajectories(file, policy=tmp_path / "none.md")
    policy = tmp_path / "policy.md"
    policy.write_bytes("Höflich.".encode("latin-1"))
    with pytest.raises(InputError, match=r"--policy .*policy.md, byte 1: must be UTF-8"):
        read_trajectories(file, policy=policy)


def test_the_record_is_what_json_says(tmp_path: Path) -> None:
    """A trajectory with supplied context is written and read back as it is."""
    tools = write(tmp_path / "tools.json", [{"name": "find_parcel", "input_schema": SCHEMA}])
    (run,) = read_trajectories(write(tmp_path / "chat.json", chat()), tools=tools, agent="gpt-5").trajectories
    again = tmp_path / "again.jsonl"
    again.write_text(run.model_dump_json() + "\n")
    assert read_trajectories(again).trajectories == (run,)
    assert json.loads(again.read_text())["tools"][0]["name"] == "find_parcel"


@pytest.mark.parametrize(
    ("annotations", "kind"),
    [
        ({"readOnlyHint": True}, "read"),
        ({"readOnlyHint": True, "destructiveHint": True}, "read"),
        ({"readOnlyHint": False}, "write"),
        ({"readOnlyHint": False, "destructiveHint": False}, "write"),
        ({"destructiveHint": True}, "write"),
        ({"destructiveHint": False}, None),
        ({"title": "Cancel order", "openWorldHint": True}, None),
        ({"readOnlyHint": "yes"}, None),
        (None, None),
    ],
)
@pytest.mark.parametrize("reply", [False, True], ids=["tools", "reply of tools/list"])
def test_mcp_annotations_say_what_a_tool_does(tmp_path: Path, annotations: Any, kind: str | None, reply: bool) -> None:
    tool = {"name": "cancel_order", "description": "", "inputSchema": SCHEMA, "annotations": annotations}
    told: dict[str, Any] = {"tools": [tool], "nextCursor": None}
    file = write(tmp_path / "mcp.json", {"jsonrpc": "2.0", "id": 1, "result": told} if reply else told)
    ((made,),) = load_tools(file).values()
    assert (made.name, made.kind, made.parameters) == ("cancel_order", kind, SCHEMA)


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ([{"type": "custom", "custom": {"name": "run_code", "format": {"type": "text"}}}], ["run_code"]),
        ([{"type": "custom", "name": "run_code", "format": {"type": "text"}}], ["run_code"]),
        ([{"type": "web_search"}, {"type": "function", "name": "find_parcel"}], ["web_search", "find_parcel"]),
        ([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}], ["web_search"]),
        ([{"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}]}], ["find"]),
        ([{"functionDeclarations": [{"name": "find"}, {"name": "move", "parameters": {"type": "OBJECT"}}]}], None),
    ],
    ids=["openai chat custom", "openai responses custom", "built in", "anthropic built in", "namespace", "gemini"],
)
def test_tools_that_are_no_functions_and_groups_of_tools(tmp_path: Path, listed: Any, names: list[str] | None) -> None:
    ((*made,),) = load_tools(write(tmp_path / "tools.json", {"tools": listed})).values()
    assert [tool.name for tool in made] == (names or ["find", "move"])


def test_tools_one_a_line(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text("\n".join(json.dumps({"name": name, "input_schema": SCHEMA}) for name in ("a", "b", "c")))
    assert [tool.name for tool in load_tools(file)[None]] == ["a", "b", "c"]


@pytest.mark.parametrize("given", [["find_parcel=write", "move=read"], {"find_parcel": "write", "move": "read"}])
def test_kinds_that_the_user_states(tmp_path: Path, given: Any) -> None:
    file = write(tmp_path / "chat.json", chat())
    reading = read_trajectories(file, tool_kinds=given)
    (run,) = reading
    assert run.tools is None
    assert run.kinds == {"find_parcel": "write"}
    assert [(w.rule, w.detail) for w in reading.warnings] == [("no run has a tool of this name", "move")]
    good = json.dumps({"id": "a", "messages": chat()}).replace("find_parcel", "move")
    (tmp_path / "broken.jsonl").write_text(f"{good}\n{json.dumps({'id': 'b', 'messages': [{'role': 'alien'}]})}\n")
    reading = read_trajectories(file, tmp_path / "broken.jsonl", tool_kinds=given, strict=False)
    assert len(reading.refused) == 1
    assert [w.detail for w in reading.warnings] == ["move"]  # of a file that is refused nothing counts
    listed = write(tmp_path / "tools.json", [{"name": "find_parcel", "kind": "read"}, {"name": "move"}])
    (run,) = read_trajectories(file, tools=listed, tool_kinds=given)
    assert run.kinds == {"find_parcel": "write", "move": "read"}
    (plain,) = read_trajectories(file, tools=listed)
    assert plain.kinds == {"find_parcel": "read"}
    assert plain.content_sha256 != run.content_sha256


@pytest.mark.parametrize("given", [["find_parcel"], ["=read"], ["find_parcel=reads"], ["a=read", "a=write"], [""]])
def test_kinds_that_cannot_be_used(tmp_path: Path, given: list[str]) -> None:
    file = write(tmp_path / "chat.json", chat())
    with pytest.raises(InputError, match="--tool-kind"):
        read_trajectories(file, tool_kinds=given)
