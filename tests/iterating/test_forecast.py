"""What a run will ask for: the tokens are those of the prompts that will be sent."""

import axisjudge
from axisjudge.datasets import demo_paths
from axisjudge.iterating.sentences import cost
from axisjudge.judges.prompt import INSTRUCTIONS, build_prefix, question
from axisjudge.judging.api import plan_judging
from axisjudge.judging.forecast import forecast
from axisjudge.rubric import load_rubric


def test_tokens_are_those_of_the_assembled_prompts_and_an_unknown_price_is_said():
    run, rubric = axisjudge.read_trajectories(*demo_paths()).trajectories[0], load_rubric("argument_validity")
    spec = "openai-compatible:no-such-model@http://localhost:9/v1,family=none"
    found = forecast([plan_judging([run], [spec], ["argument_validity"])])
    characters = len(INSTRUCTIONS) + len(build_prefix(run).text) + len(question(rubric, len(run.steps)))
    assert found.input_tokens == -(-characters // 4)
    assert found.input_usd == 0
    assert found.unpriced == ("openai-compatible:no-such-model@http://localhost:9/v1",)
    assert "No price is known for openai-compatible:no-such-model" in cost(found)
