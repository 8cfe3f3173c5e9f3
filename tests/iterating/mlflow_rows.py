"""Rows of data/reference/improvement.csv of MLflow's `judge.align`, in the world of improve_table.py.

    pip install mlflow dspy  # in an environment of its own, with what axisjudge needs; never asked for by the package
    MLFLOW_DISABLE_TELEMETRY=true python tests/iterating/mlflow_rows.py SIMBA 15 1200 >> rows.csv  # seconds at most

Real `mlflow` and `dspy`: traces, labels as human feedback, `make_judge`, and `SIMBAAlignmentOptimizer` or
`GEPAAlignmentOptimizer` with their defaults. Replaced are the two functions that would call a model, and the one that
reads a trace's spans, of which runs here have none: the judge's answers with the world's verdict on the item under the
instructions that it is given (drawn anew at each call) and names the kind of case, as simulated judges do; the one that
writes gives the sentences of the simulated proposers, from the cases that it is shown as wrong. A run that stands in
the instructions as an example is judged right, as a copied run is.

`align` gives back a judge and says no gain; what is accepted is a judge whose instructions differ from the first ones,
and what is said of it is its agreement with all labels, beside the first one's, with the interval of plain GEPA's row.
"""

from __future__ import annotations

import csv
import json
import logging
import re
import sys
import time
from random import Random
from typing import Any

import dspy
import mlflow
import mlflow.genai.judges.instructions_judge as judging
import mlflow.genai.judges.optimizers.dspy as aligning
import numpy as np
from improve_table import DESIGNS, FIRST, PROPOSERS, World, accuracy, counted
from mlflow.entities import AssessmentSource, Feedback, Trace, TraceData, TraceInfo, TraceLocation, TraceState
from mlflow.genai.judges.optimizers import GEPAAlignmentOptimizer, SIMBAAlignmentOptimizer
from scipy.special import ndtr

from axisjudge.judges import simulated as ten
from axisjudge.stats.proportions import clustered_mean

OPTIMIZERS = {"SIMBA": SIMBAAlignmentOptimizer, "GEPA": GEPAAlignmentOptimizer}
RUN = re.compile(r"run number (\d+)\b")


def text_of(instructions: str, world: World) -> str:
    """The instructions as the world reads them: its sentences, and the tasks of runs that stand in it as examples."""
    examples = {int(world.task[int(number)]) for number in RUN.findall(instructions)}
    return "\n".join([instructions, *(f"MEMO {task}" for task in sorted(examples))])


class Proposer(dspy.BaseLM):
    """The model that writes: a simulated proposer behind the two forms of request of SIMBA and GEPA."""

    def __init__(self, name: str, draws: Random) -> None:
        super().__init__(model="simulated")
        self.name, self.draws = name, draws

    def copy(self, **_: Any) -> Proposer:
        return self

    def __call__(self, prompt: Any = None, messages: Any = None, **_: Any) -> list[str]:
        asked = prompt or "\n".join(str(message["content"]) for message in messages)
        if "module_advice" in asked:
            shown = asked.rpartition("[[ ## worse_program_outputs ## ]]")[2].partition("[[ ##")[0]
            answer = {"discussion": "so", "module_advice": {"self": ten.edit_of(self.name, shown, self.draws)[0]}}
        else:
            old, _, shown = asked.rpartition("[[ ## current_instruction ## ]]\n")[2].partition("\n\n[[ ## examples")
            wrong = (case for case in re.split(r"\{\"Inputs\"", shown) if "score of False" in case)
            sentence, _ = ten.edit_of(self.name, " ".join(wrong), self.draws)
            answer = {"new_instruction": old if sentence in old else f"{old}\n{sentence}"}
        if "JSON object" in asked:
            return [json.dumps(answer)]
        given = {name: said if isinstance(said, str) else json.dumps(said) for name, said in answer.items()}
        return ["".join(f"[[ ## {name} ## ]]\n{said}\n\n" for name, said in given.items()) + "[[ ## completed ## ]]"]


def trace_of(number: int, is_fault: bool) -> Trace:
    """A run as a trace with a person's label."""
    label = Feedback(
        name="axis", value="incorrect" if is_fault else "correct", source=AssessmentSource("HUMAN", "label")
    )
    info = TraceInfo(
        trace_id=f"tr-{number}", trace_location=TraceLocation.from_experiment_id("0"), request_time=0,
        state=TraceState.OK, request_preview=f"run number {number}", response_preview="done", assessments=[label],
    )  # fmt: skip
    return Trace(info, TraceData([]))


def study(n_tasks: int, proposer: str, number: int, way: str) -> dict[str, Any]:
    """One study: whether other instructions came back, their true gain, and whether what is said of them holds."""
    rng = np.random.default_rng([number, n_tasks, PROPOSERS.index(proposer), 0])
    world = World(n_tasks, rng, **DESIGNS["made on"])
    errors: dict[str, Any] = {}

    def answered(*, prompt: Any, assessment_name: str, **_: Any) -> Feedback:
        system, user = (message.content for message in prompt)
        item, text = int(RUN.findall(user)[-1]), text_of(system, world)
        p = errors.setdefault(text, world.error(text))[item]
        now = np.sqrt(world.persist) * world.lasting[item] + np.sqrt(1 - world.persist) * rng.standard_normal()
        is_fault = (world.fault[item] != (ndtr(now) < p)) and not (ten.PRAISE in text and world.flattered[item])
        why = f"a case of kind {world.kind[item]}."
        return Feedback(name=assessment_name, value="incorrect" if is_fault else "correct", rationale=why)

    judging.invoke_judge_model = answered
    aligning.construct_dspy_lm = lambda _: Proposer(proposer, Random(number))
    aligning.trace_to_dspy_example = lambda trace, judge: [example_of(trace)]
    judge = mlflow.genai.judges.make_judge(
        name="axis", instructions=f"{FIRST} {{{{ inputs }}}}", model="openai:/simulated", feedback_value_type=str
    )
    how = {"seed": number + 1, "simba_kwargs": {"num_threads": 1}} if way == "SIMBA" else {}
    if way == "GEPA":
        how = {"gepa_kwargs": {"seed": number, "num_threads": 1}}
    traces = [trace_of(item, bool(world.fault[item])) for item in range(world.n)]
    made = OPTIMIZERS[way](model="openai:/simulated", **how).align(judge, traces)
    if made.instructions.split() == judge.instructions.split():
        return {"accepted": False}
    text = text_of(made.instructions, world)
    true = accuracy(text, "made on") - accuracy(FIRST, "made on")
    said = clustered_mean(world.scores(text) - world.scores(FIRST), world.task)
    return {"accepted": True, "true": true, "said": said.estimate, "covered": said.ci_low <= true <= said.ci_high}


def example_of(trace: Trace) -> dspy.Example:
    """What `trace_to_dspy_example` makes of a trace whose root span holds the run; here a run has no spans."""
    label = trace.info.assessments[0].feedback.value
    return dspy.Example(result=label, rationale="", inputs=trace.info.request_preview).with_inputs("inputs")


def main() -> None:
    """A row a proposer, of as many studies as the time allows, equally many of each."""
    way, n_tasks, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    logging.disable(logging.CRITICAL)
    found: dict[str, list[dict[str, Any]]] = {
        proposer: [] for proposer in ("good", "random", "flattering", "overfitting")
    }
    began, number = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        for proposer, of in found.items():
            of.append(study(n_tasks, proposer, number, way))
        number += 1
        print(number, found, file=sys.stderr, flush=True)
    for proposer, of in found.items():
        name = f"MLflow {mlflow.__version__} align, {way}"
        row = counted(of, design="made on", way=name, proposer=proposer, tasks=n_tasks)
        csv.DictWriter(sys.stdout, list(row), lineterminator="\n").writerow(row)


if __name__ == "__main__":
    main()
