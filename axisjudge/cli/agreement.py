"""`axisjudge agreement`: how far raters agree, per axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.analysis.agreement import AgreementByAxis


def agreement(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet).")],
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """Agreement per axis with intervals, chance-corrected beside raw, and what was lost."""
    from axisjudge.analysis.agreement import agreement_by_axis
    from axisjudge.ratings import read_ratings

    result = agreement_by_axis(read_ratings(*ratings))
    if json:
        show.as_json(result.to_dict())
    else:
        print_agreement(result)


def print_agreement(result: "AgreementByAxis") -> None:
    """The short table, and below it what the figures say in words."""
    rows = [
        {
            "axis": row["question"],
            "n": row["n_items"],
            f"{row['cluster_unit']}s": row["n_clusters"],
            "lost": row["n_lost"],
            **{name: _with_interval(row, name) for name in ("percent", "kappa", "ac1", "alpha")},
        }
        for row in result.to_frame().to_dicts()
    ]
    show.table(rows, "Agreement per axis")
    typer.echo()
    for sentence in result.sentences():
        typer.echo(sentence)


def _with_interval(row: dict[str, Any], name: str) -> str:
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    if value is None:
        return "-"
    return f"{value:.2f}" if low is None else f"{value:.2f} ({low:.2f} to {high:.2f})"
