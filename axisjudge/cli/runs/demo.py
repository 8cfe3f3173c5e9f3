"""`axisjudge demo`: a first measurement on the real votes that ship with the package."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.options import new_file

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.stats.estimate import Estimate

ABOUT = {
    "tau2": "customer service in three domains",
    "hotpotqa": "questions answered by search",
    "bfcl": "function calls over several turns",
}


def demo(
    subset: Annotated[str, typer.Option(help="Part of AgentProcessBench: tau2, hotpotqa or bfcl.")] = "tau2",
    seed: Annotated[int, typer.Option(help="Seed of the sign flips behind the ranks.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the votes of steps as a ratings file, .parquet or .jsonl.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Twenty real judges against people: who finds the steps that people call wrong. Nothing is asked or downloaded."""
    import numpy as np

    from axisjudge.datasets import published_votes
    from axisjudge.studies.demo import error_finding

    votes = published_votes(subset, level="step")
    if out is not None:
        _write(votes, out)
    finding = error_finding(votes, cluster_unit="query", rng=np.random.default_rng(seed))
    if json:
        show.as_json({"source": "AgentProcessBench", "subset": subset, "seed": seed, **finding.to_dict()})
        return
    typer.echo(
        f"AgentProcessBench, {subset} ({ABOUT[subset]}): agents' steps voted +1, 0 or -1 by people and by "
        f"{len(finding.judges)} judge configurations of {len({judge.family for judge in finding.judges})} families."
    )
    rows: list[dict[str, Any]] = [
        {
            "judge": judge.judge,
            "family": judge.family,
            "finds wrong steps": _interval(judge.found),
            "passes the others": _interval(judge.passed),
            "balanced": _interval(judge.balanced),
            "rank": f"{judge.rank_low}-{judge.rank_high}",
            "lost": judge.n_lost,
        }
        for judge in finding.judges
    ]
    show.table(rows, f"Judges against people, with {finding.ci_level:.0%} intervals by query")
    typer.echo("\nBalanced is the mean of both shares: 0.50 is what always giving the same vote reaches.")
    show.lines(finding.sentences())
    typer.echo("\nTo try next:")
    for command, why in _next(out, subset):
        typer.echo(f"  {command:<67}  {why}")


def _interval(estimate: "Estimate") -> str:
    if estimate.ci_low != estimate.ci_low:
        return f"{estimate.estimate:.2f} ({estimate.interval()})"
    return f"{estimate.estimate:.2f} ({estimate.ci_low:.2f}-{estimate.ci_high:.2f})"


def _write(votes: "pl.DataFrame", out: Path) -> None:

    if new_file(out).suffix not in (".parquet", ".jsonl"):
        raise InputError("--out", "must end in .parquet or .jsonl", str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".parquet":
        votes.write_parquet(out)
    else:
        votes.write_ndjson(out)


def _next(out: Path | None, subset: str) -> list[tuple[str, str]]:
    """Commands that work as they stand, from where the user stands."""
    from axisjudge.workbench import own

    file = out or Path("votes.parquet")
    other = "hotpotqa" if subset == "tau2" else "tau2"
    commands = [
        (f"axisjudge demo --subset {other}", "the same judges on other runs"),
        *([] if out else [(f"axisjudge demo --subset {subset} --out {file}", "these votes as a ratings file")]),
        (f"axisjudge agreement {file} --steps", "how far the judges agree, and why that is not enough"),
        (f"axisjudge compare {file} --labels {file} --steps", "what may be claimed of each judge"),
    ]
    try:
        own()
    except InputError:
        commands.append(("axisjudge init bench --demo && cd bench", "a folder of your own: rubrics, notebooks, data"))
    commands.append(("axisjudge report agreement", "a page with figures, by one notebook"))
    return commands
