"""Fetching from a server on loopback: checked, whole or not at all, the mirror first, the unpinned refused."""

import http.server
import threading
from collections.abc import Iterator
from hashlib import sha1, sha256
from pathlib import Path

import pytest

from axisjudge.checks import InputError
from axisjudge.datasets import demo_paths, demo_truth, fetch, list_datasets
from axisjudge.datasets.registry import git_blob_id
from axisjudge.workbench import shipped

RUNS = b'[{"task_id": 0}]\n'
LABELS = b'{"label": 1}\n' * 5000
SHA256 = sha256(RUNS).hexdigest()
BLOB = sha1(b"blob %d\0" % len(LABELS) + LABELS).hexdigest()

REGISTRY = """
[parcels]
title = "Parcels"
url = "{url}"
licence = "CC0-1.0"
folder = "boxes/parcels"
files = [
  {{ path = "runs.json", source = "data/all runs.json", sha256 = "{sha}", bytes = {size} }},
  {{ path = "people/labels.jsonl", git_blob = "{blob}" }},
]

[letters]
title = "Letters"
url = "{url}"
licence = "CC0-1.0"
folder = "letters"
note = "nobody has published a checksum"
files = [{{ path = "letters.json" }}]
"""


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; one of `broken` ends in the middle, as a lost connection does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {"/data/all%20runs.json": RUNS, "/people/labels.jsonl": LABELS}
        self.broken: set[str] = set()
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.path in self.server.broken else content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def workbench(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("rubrics", "notebooks", "data"):
        (tmp_path / name).mkdir()
    text = REGISTRY.format(url=server.url, sha=SHA256, size=len(RUNS), blob=BLOB)
    (tmp_path / "data" / "registry.toml").write_text(text)
    monkeypatch.setenv("AXISJUDGE_HOME", str(tmp_path))
    monkeypatch.delenv("AXISJUDGE_DATA", raising=False)
    monkeypatch.setattr("axisjudge.workbench._chosen", None)
    return tmp_path


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_git_blob_id_is_what_git_says() -> None:
    """`git hash-object` of an empty file, and of the example in Pro Git, section 10.2."""
    assert git_blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob_id(b"what is up, doc?") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"


def test_a_data_set_is_fetched_once(workbench: Path, server: Server) -> None:
    folder = fetch("parcels")
    assert folder == workbench / "data" / "cache" / "boxes" / "parcels"
    assert (folder / "runs.json").read_bytes() == RUNS
    assert (folder / "people" / "labels.jsonl").read_bytes() == LABELS
    assert server.asked == ["/data/all%20runs.json", "/people/labels.jsonl"]
    assert fetch("parcels") == folder
    assert len(server.asked) == 2, "what is there and right is not asked for again"
    (folder / "runs.json").write_bytes(b"spoilt")
    fetch("parcels")
    assert (folder / "runs.json").read_bytes() == RUNS


def test_what_is_fetched_may_be_read_by_whoever_may_read_new_files(tmp_path: Path) -> None:
    """A cache is often shared."""
    new = tmp_path / "new"
    new.touch()
    folder = fetch("parcels", to=tmp_path / "to")
    assert {file.stat().st_mode for file in folder.rglob("*") if file.is_file()} == {new.stat().st_mode}


def test_to_another_folder(tmp_path: Path) -> None:
    folder = fetch("parcels", to=tmp_path / "elsewhere")
    assert folder == tmp_path / "elsewhere" / "boxes" / "parcels"
    assert files_below(folder) == ["people/labels.jsonl", "runs.json"]


@pytest.mark.parametrize(
    ("path", "kind"), [("/data/all%20runs.json", "sha256"), ("/people/labels.jsonl", "git blob id")]
)
def test_a_wrong_checksum_is_refused_and_removed(tmp_path: Path, server: Server, path: str, kind: str) -> None:
    server.files[path] += b" "
    with pytest.raises(InputError, match=f"its {kind} must be") as caught:
        fetch("parcels", to=tmp_path / "to")
    assert server.url + path.removeprefix("/") in str(caught.value)
    name = Path(path).name.replace("%20", " ").replace("all ", "")
    assert not [file for file in files_below(tmp_path / "to") if name in file]


@pytest.mark.parametrize("path", ["/data/all%20runs.json", "/people/labels.jsonl"])
def test_an_interrupted_download_leaves_nothing(tmp_path: Path, server: Server, path: str) -> None:
    server.broken.add(path)
    with pytest.raises(InputError, match=r"could not be had|must be"):
        fetch("parcels", to=tmp_path / "to")
    kept = files_below(tmp_path / "to")
    assert kept == ([] if path.startswith("/data") else ["boxes/parcels/runs.json"])
    server.broken.clear()
    assert len(files_below(fetch("parcels", to=tmp_path / "to"))) == 2


def test_an_interrupted_download_keeps_the_older_file(tmp_path: Path, server: Server) -> None:
    folder = fetch("parcels", to=tmp_path / "to")
    (folder / "runs.json").write_bytes(b"[1]")
    server.broken.add("/data/all%20runs.json")
    with pytest.raises(InputError):
        fetch("parcels", to=tmp_path / "to")
    assert (folder / "runs.json").read_bytes() == b"[1]"


def test_a_user_who_interrupts_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(url: str, target: Path) -> None:
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("axisjudge.datasets.registry._download", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("parcels", to=tmp_path / "to")
    assert files_below(tmp_path / "to") == []


def test_what_the_server_does_not_have(tmp_path: Path, server: Server) -> None:
    server.files.clear()
    with pytest.raises(InputError, match=r"could not be had \(404") as caught:
        fetch("parcels", to=tmp_path / "to")
    assert "AXISJUDGE_DATA" in caught.value.cure


def test_a_server_that_is_not_there(workbench: Path, tmp_path: Path) -> None:
    registry = workbench / "data" / "registry.toml"
    text = REGISTRY.format(url="http://127.0.0.1:9/", sha=SHA256, size=len(RUNS), blob=BLOB)
    registry.write_text(text)
    with pytest.raises(InputError, match="could not be had"):
        fetch("parcels", to=tmp_path / "to")


def test_the_mirror_comes_first(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "boxes" / "parcels").mkdir(parents=True)
    (mirror / "boxes" / "parcels" / "runs.json").write_bytes(RUNS)
    monkeypatch.setenv("AXISJUDGE_DATA", str(mirror))
    folder = fetch("parcels", to=tmp_path / "to")
    assert server.asked == ["/people/labels.jsonl"], "only what the mirror lacks"
    assert (folder / "runs.json").read_bytes() == RUNS


def test_a_damaged_mirror_is_refused(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mirror" / "boxes" / "parcels" / "runs.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(RUNS + b" ")
    monkeypatch.setenv("AXISJUDGE_DATA", str(tmp_path / "mirror"))
    with pytest.raises(InputError, match="its sha256 must be") as caught:
        fetch("parcels", to=tmp_path / "to")
    assert str(file) in caught.value.where
    assert server.asked == []
    assert files_below(tmp_path / "to") == []


def test_a_mirror_that_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXISJUDGE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="AXISJUDGE_DATA: must name a folder"):
        fetch("parcels", to=tmp_path / "to")


def test_the_unpinned_is_listed_and_refused(tmp_path: Path, server: Server) -> None:
    assert [(dataset.name, dataset.pinned) for dataset in list_datasets()] == [("parcels", True), ("letters", False)]
    with pytest.raises(InputError, match="is not pinned to a checksum yet") as caught:
        fetch("letters", to=tmp_path / "to")
    assert "nobody has published a checksum" in str(caught.value)
    assert server.asked == []


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'parcels'"):
        fetch("parcel")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[parcels\n", "is not valid TOML"),
        ('[parcels]\ntitle = "x"\n', "parcels"),
        (REGISTRY.replace('"letters.json"', '"../letters.json"'), "relative path"),
        (REGISTRY.replace('folder = "letters"', 'folder = "/letters"'), "relative path"),
        (REGISTRY.replace("{sha}", "abc"), "sha256"),
    ],
)
def test_a_broken_registry_is_named(workbench: Path, text: str, message: str) -> None:
    registry = workbench / "data" / "registry.toml"
    if "{url}" in text:
        text = text.format(url="http://127.0.0.1:9/", sha=SHA256, size=1, blob=BLOB)
    registry.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        list_datasets()
    assert str(registry) in caught.value.where


def test_a_workbench_without_registry_or_demo_has_those_of_the_package(workbench: Path) -> None:
    (workbench / "data" / "registry.toml").unlink()
    assert "agentprocessbench" in [dataset.name for dataset in list_datasets()]
    assert demo_paths()
    assert {demo_truth().parents[2], *(path.parents[3] for path in demo_paths())} == {shipped()}
    (workbench / "data" / "demo").mkdir()
    with pytest.raises(InputError, match="holds no results"):
        demo_paths()  # a demo of one's own is not mixed with the one that came with the package


def test_the_demo_is_listed_in_order(workbench: Path) -> None:
    results = workbench / "data" / "demo" / "results"
    results.mkdir(parents=True)
    for name in ("wren", "finch"):
        (results / f"{name}.json").write_text("{}")
    assert [path.stem for path in demo_paths()] == ["finch", "wren"]
    assert demo_truth() == workbench / "data" / "demo" / "planted.jsonl"
