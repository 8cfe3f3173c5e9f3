"""The same calls by Inspect AI; run by the Python of an environment of its own (`beside_inspect`)."""

import json
import sys
from pathlib import Path

from inspect_ai import Task, eval, eval_retry
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import generate


def main(prompts: str, url: str, log_dir: str, at_once: str, retry: str = "") -> None:
    """Ask for every prompt; with `retry`, go on from that log."""
    about = {"model_base_url": url, "display": "none", "log_dir": log_dir, "max_connections": int(at_once)}
    if retry:
        logs = eval_retry(retry, display="none", log_dir=log_dir, max_connections=int(at_once))
    else:
        asked = [json.loads(line) for line in Path(prompts).read_text(encoding="utf-8").splitlines()]
        samples = [
            Sample(input=[ChatMessageSystem(content=each["system"]), ChatMessageUser(content=each["user"])], id=number)
            for number, each in enumerate(asked)
        ]
        task = Task(dataset=MemoryDataset(samples), solver=generate())
        logs = eval(task, model="openai/m", model_args={"responses_api": False}, **about)
    answered = sum(bool(sample.output.choices) for sample in logs[0].samples or ())
    print(json.dumps({"status": logs[0].status, "answered": answered}))


if __name__ == "__main__":
    main(*sys.argv[1:])
