"""A model that no list knows: said once in models.toml, taken from there, and told."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from judging.worlds import rubrics, trajectories
from typer.testing import CliRunner

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.judges import make_judges
from axisjudge.judges.lifecycle import known_retirement
from axisjudge.judges.pricing import Tokens
from axisjudge.judging import make_plan
from axisjudge.judging.estimate import check_priced, estimate_of
from axisjudge.judging.plan import RunOptions
from axisjudge.ratings import ratings_frame
from axisjudge.spec import JudgeSpec
from axisjudge.spec.own_models import OwnPrice, add_model, own_models

SPEC = "openai-compatible:acme-judge-9@https://models.example.org/v1"


RUBRICS = rubrics()  # of the checkout; the workbench of a test has none


@pytest.fixture
def bench(tmp_path):
    for name in ("rubrics", "notebooks", "data"):
        (tmp_path / name).mkdir()
    with workbench.at(tmp_path):
        yield tmp_path


def add(*options):
    return CliRunner().invoke(app, ["models", "add", "acme-judge-9", *options])


def test_what_is_said_once_is_taken_everywhere_and_told(bench):
    with pytest.raises(InputError, match="axisjudge models add"):
        JudgeSpec.parse(SPEC)
    told = ["--family", "acme", "--input", "0.5", "--output", "2", "--cached", "0.1", "--context", "32768"]
    assert add(*told, "--retires", "2027-05-01", "--source", "contract of May").exit_code == 0
    assert JudgeSpec.parse(SPEC).family == "acme"
    (judge,) = make_judges([SPEC])
    assert judge.price(Tokens(1_000_000, 100_000, cache_read=400_000)) == pytest.approx(0.6 * 0.5 + 0.4 * 0.1 + 0.1 * 2)
    assert known_retirement("openai-compatible", "acme-judge-9").retires_on == date(2027, 5, 1)
    origins = judge.origins()
    assert all(
        "models.toml, contract of May" in origins[name] for name in ("family", "price a million tokens", "context")
    )
    plan = make_plan(trajectories(1), [judge], RUBRICS)
    check_priced(estimate_of(plan, ratings_frame([])), RunOptions(budget_usd=1.0))
    asyncio.run(judge.close())


def test_any_letter_can_be_written_down_and_comments_stay(bench):
    file = bench / "models.toml"
    file.write_text('# ours\n\n[[model]]  # of May\nname = "other"\nread_on = 2026-01-01\n\n# asked on Monday\n')
    for source in ('\U0001f600 \x7f \x01 "\\ é', "plain"):
        assert add("--source", source).exit_code == 0
        assert {each.name: each.source for each in own_models()} == {"other": "the user", "acme-judge-9": source}
        assert [line for line in file.read_text().splitlines() if "#" in line] == [
            *("# ours", "[[model]]  # of May", "# asked on Monday")
        ]
    file.write_text('model = [{name = "other", read_on = 2026-01-01}]')
    assert add("--source", "a\n[[model]]").exit_code == 0
    assert add("--source", "plain").exit_code == 0
    assert [each.name for each in own_models()] == ["other", "acme-judge-9"]
    assert add("--source", "\ud83d").exit_code != 0
    assert len(own_models()) == 2


def test_entries_that_are_added_at_once_are_all_kept(bench):
    names = [f"m{n}" for n in range(40)]
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda name: add_model({"name": name, "family": "acme"}), names))
    assert sorted(each.name for each in own_models()) == sorted(names)


def test_a_second_word_on_a_model_takes_the_place_of_the_first(bench):
    add("--family", "acme")
    add("--family", "other", "--source", 'a "quoted" page\\')
    add("--family", "third", "--provider", "openai")
    assert [(each.family, each.provider, each.source) for each in own_models()] == [
        ("other", None, 'a "quoted" page\\'),
        ("third", "openai", "the user"),
    ]
    assert JudgeSpec.parse(SPEC).family == "other"
    listed = CliRunner().invoke(app, ["models", "list", "--json"])
    assert len(json.loads(listed.stdout)["models"]) == 2


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--input", "1"], "both prices"),
        (["--input", "-1", "--output", "1"], "input_usd"),
        (["--retires", "soon"], "retires"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(bench, options, fault):
    done = add(*options)
    assert fault in str(done.exception)
    assert not (bench / "models.toml").exists()


def test_a_broken_file_is_named(bench):
    (bench / "models.toml").write_text("[[model]]\nname = 3\n")
    with pytest.raises(InputError, match=r"models\.toml, name"):
        own_models()


@pytest.mark.parametrize("text", ["1", "1/2/3/4", "a/b", "-1/2", "nan/1", "inf/1"])
def test_a_price_is_two_or_three_amounts(text):
    with pytest.raises(InputError, match="IN/OUT"):
        OwnPrice.parse("price", text)
