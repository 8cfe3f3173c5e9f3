"""The wheel, built and installed as a user has it: no clone, an empty folder, a home of one's own."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = "axisjudge/shipped/"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """The site-packages of an environment that has the wheel; what it requires is that of this environment."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(place, symlinks=True)
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--no-index", "--offline"]
    # a cache of its own: uv takes a wheel it has met by name and version
    install += ["--no-cache", "--python", place, wheel]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")  # .pth files in there are not followed
    (place / "share").symlink_to(Path(sys.prefix) / "share")  # templates of nbconvert
    return site


@pytest.fixture
def run(site, tmp_path) -> Run:
    """A command of the installed package, from an empty folder."""
    folder, home = tmp_path / "empty", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    place = Path(sysconfig.get_path("scripts", vars={"base": str(site.parents[2])}))
    dropped = ("AXISJUDGE", "PYTHON", "JUPYTER", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}

    def command(*words: object, cwd: str = ".", rc: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [place / "axisjudge", *map(str, words)],
            cwd=folder / cwd,
            env={**kept, "HOME": str(home), "MPLCONFIGDIR": str(home), "PYTHONWARNINGS": "default"},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == rc, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done

    return command


def content(site: Path) -> dict[str, str]:
    """Hashes of the installed package's files; bytecode is Python's own."""
    found = (site / "axisjudge").rglob("*")
    return {
        str(path): sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file() and "__pycache__" not in path.parts
    }


def tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout")
    return set(listed.stdout.rstrip("\0").split("\0"))


def test_the_wheel_holds_each_file_once_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        shipped = {name.removeprefix(SHIPPED): archive.read(name) for name in names if name.startswith(SHIPPED)}
    assert len(names) == len(set(names))
    package = {name for name in names if not name.startswith(SHIPPED)}
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "axisjudge").rglob("*") if path.is_file()}
    assert package == {name for name in here if "__pycache__" not in name}  # page templates and front ends among them
    data = ("demo", "published", "reference", "lifecycle.toml", "registry.toml")
    wanted = tracked("rubrics", "notebooks", *(f"data/{name}" for name in data))
    assert shipped.keys() == {name for name in wanted if not name.endswith(".py")}
    assert all(text == (ROOT / name).read_bytes() for name, text in shipped.items())
    assert wheel.stat().st_size < 3_000_000


def test_an_editable_install_copies_nothing(tmp_path):
    """Copies in site-packages would grow stale and be read in place of the checkout's own files."""
    build = f"from hatchling.build import build_editable; build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True, timeout=120)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        named = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert [Path(name).suffix for name in named] == [".pth"]
        assert archive.read(named[0]).decode().strip() == str(ROOT)


@pytest.mark.slow
def test_without_a_workbench_everything_is_read_and_writing_asks_for_one(run, site, tmp_path):
    before = content(site)
    assert "3,557 steps" in run("demo").stdout
    assert len(json.loads(run("demo", "--subset", "bfcl", "--json").stdout)["judges"]) == 20
    runs = site / "axisjudge" / "shipped" / "data" / "demo" / "results"
    assert "alder-large.json" in run("read", runs).stdout
    refused = run("judge", runs, rc=2)
    assert "axisjudge init" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    run("judge", runs, "--judge", "rules", "--limit", 5, "--out", "ratings.jsonl")
    assert "argument_validity" in run("agreement", "ratings.jsonl").stdout
    assert "axisjudge init" in run("report", rc=2).stderr
    assert content(site) == before
    assert {path.name for path in (tmp_path / "empty").iterdir()} <= {"ratings.jsonl", "ratings.jsonl.lock"}


@pytest.mark.slow
def test_a_workbench_of_ones_own(run, site, tmp_path):
    before = content(site)
    run("init", "bench", "--demo")
    made = {path.name for path in (tmp_path / "empty" / "bench").iterdir()}
    assert made == {"rubrics", "notebooks", "data", "reports", ".gitignore"}
    assert "112" in run("read", "data/demo/results", "--json", cwd="bench").stdout
    run("judge", "data/demo/results", "--judge", "rules", cwd="bench")
    run("agreement", "data/ratings/ratings.jsonl", cwd="bench")
    run("demo", "--out", "data/ratings/votes.parquet", cwd="bench")
    run("report", "agreement", "-p", "source=data/ratings/votes.parquet", cwd="bench")
    run("report", "failures", "rubric_versions", cwd="bench")
    assert "up to date" in run("report", "failures", cwd="bench").stdout
    for name in ("02_agreement", "05_failures", "01_rubric_versions"):
        page = tmp_path / "empty" / "bench" / "reports" / name / "report.html"
        assert page.stat().st_size > 10_000
        assert str(site) not in page.read_text(encoding="utf-8")
    assert content(site) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("split", "make", "{runs}"),
        ("holdout", "open", "--reason", "now"),
        ("data", "fetch", "agentrx"),
        ("twins", "{runs}", "--judge", "rules"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_write_ask_for_a_workbench(run, site, words):
    before = content(site)
    runs = site / "axisjudge" / "shipped" / "data" / "demo" / "results"
    done = run(*(word.format(runs=runs) for word in words), rc=2)
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert content(site) == before
