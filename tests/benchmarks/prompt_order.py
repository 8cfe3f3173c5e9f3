"""What the order of a prompt's parts costs: a study's calls in three orders, by each provider's own rules of caching.

    .venv/bin/python -m benchmarks.prompt_order [RUNS ...]     (in tests/; the demo's runs without any)

`now` is the order that is sent (setting, run, rubric); `before` had the setting within the run, behind the run's own
mark; `by axis` would put the rubric first, and is not sent, whatever it costs. Calls go in the order of the plan, the
first of a run ahead of the others. Tokens are four letters each; replies have 300.

Rules, with their pages: the least that is kept, whether writing costs, where a prefix may end, and after how many like
prompts it is read.

- Anthropic: 1,024 tokens for Sonnet 4.6, 4,096 for Haiku 4.5; ends at marks; 5 minutes from the last use
  (platform.claude.com/docs/en/build-with-claude/prompt-caching).
- OpenAI: 1,024, from there in steps of 128; 5 to 10 minutes (developers.openai.com/api/docs/guides/prompt-caching).
- Gemini: 2,048 for 2.5, 4,096 for 3 and later; no promise (ai.google.dev/gemini-api/docs/caching).
- DeepSeek: steps of 64; a beginning that prompts have alike is kept when the second of them comes, and read from the
  third on; hours (api-docs.deepseek.com/guides/kv_cache).
"""

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from axisjudge.judges.pricing import LISTED_AT, Tokens, cost_usd
from axisjudge.judging import judging_run
from axisjudge.readers import read_trajectories
from axisjudge.verdict import AXES

DEMO = Path(__file__).parents[2] / "data" / "demo" / "results"
OUTPUT = 300
ORDERS = ("before", "now", "by axis")


@dataclass(frozen=True)
class Rules:
    """How a provider caches: see above. `seen` is how many like prompts must have come before one is read."""

    provider: str
    model: str
    least: int
    step: int = 1
    seen: int = 1
    writes: bool = False


PROVIDERS = (
    Rules("anthropic", "claude-sonnet-4-6", 1_024, writes=True),
    Rules("anthropic", "claude-haiku-4-5", 4_096, writes=True),
    Rules("openai", "gpt-5", 1_024, step=128),
    Rules("google", "gemini-2.5-flash", 2_048),
    Rules("google", "gemini-3-flash-preview", 4_096),
    Rules("deepseek", "deepseek-chat", 64, step=64, seen=2),
)


def prompts(paths: list[Path]) -> list[list[tuple[str, str]]]:
    """The parts of each call's prompt, in the order of the plan: name and text."""
    runs = [run for run in read_trajectories(*paths).trajectories if run.steps]
    plan = judging_run(runs, ["openai-compatible:m@http://localhost:1/v1,family=m"], AXES).plan()
    names = ("instructions", "setting", "run", "rubric")
    calls = (call for group in plan.groups for call in group if call.inquiry.unasked(call.judge) is None)
    return [list(zip(names, call.inquiry.prompt(call.judge), strict=True)) for call in calls]


def in_order(parts: list[tuple[str, str]], order: str) -> list[str]:
    """The parts as an order sends them; a cache may break between them."""
    text = dict(parts)
    if order == "by axis":
        return [text["instructions"] + text["rubric"], text["setting"], text["run"]]
    if order == "before":
        return [text["instructions"], text["run"][:60] + text["setting"] + text["run"][60:], text["rubric"]]
    return [text["instructions"] + text["setting"], text["run"], text["rubric"]]


def study(calls: list[list[tuple[str, str]]], order: str, rules: Rules) -> tuple[float, float]:
    """US dollars of all calls, and the share of their prompts that is read from a cache."""
    came: Counter[str] = Counter()
    usd = whole = cached = 0.0
    for parts in calls:
        begun, read, write = "", 0, 0
        texts = in_order(parts, order)
        for text in texts[:-1]:
            begun += text
            tokens = len(begun) // 4 // rules.step * rules.step
            if tokens >= rules.least:
                if came[begun] >= rules.seen:
                    read = tokens
                elif rules.writes:
                    write = tokens - read
            came[begun] += 1
        n = sum(map(len, texts)) // 4
        tokens_of = Tokens(n, OUTPUT, read, write)
        usd += cost_usd(tokens_of, rules.model, provider=rules.provider, at=LISTED_AT) or float("nan")
        whole, cached = whole + n, cached + read
    return usd, cached / whole


def main() -> None:
    calls = prompts([Path(each) for each in sys.argv[1:]] or sorted(DEMO.glob("*.json")))
    letters: Counter[str] = Counter()
    for parts in calls:
        letters.update({name: len(text) for name, text in parts})
    each = ", ".join(f"{name} {n / 4 / len(calls):,.0f}" for name, n in letters.items())
    print(f"{len(calls)} calls; tokens a call: {each}; all {sum(letters.values()) / 4 / len(calls):,.0f}")
    for rules in PROVIDERS:
        told = (f"{order} ${usd:,.3f} ({share:.0%})" for order in ORDERS for usd, share in [study(calls, order, rules)])
        print(f"{rules.model}: {', '.join(told)}")


if __name__ == "__main__":
    main()
