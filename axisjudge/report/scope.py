"""What a page's numbers are conditional on, and whether any rating was simulated or planted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import polars as pl

from axisjudge.judges.injection import FLAG, KIND_WORDS
from axisjudge.judges.lifecycle import known_retirements
from axisjudge.labels.panel import FAMILY as SIMULATED_PEOPLE
from axisjudge.ratings.edge import BY_JUDGE
from axisjudge.studies._shared.words import agreeing, fitting, judge_words, listed, many, sentence_case
from axisjudge.verdict import IDENTITY

#: Columns that differ from one judging run to the next although the same was said.
VOLATILE = ("run_id", "call_id", "latency_s", "created_at")

_NAMED = 6

#: Agents of the demo and of the planted scores: whoever has these ran nothing.
_INVENTED = {"alder-large", "birch-2", "cedar-mini", "damson-pro", "elm-small", "fir-1", "hazel-xl", "larch-2"}

#: Where verdicts come from that nobody gave.
_MADE = {"simulated": "drawn by a program", "planted": "known answers set by a program"}

_SIMULATED = pl.col("family").eq_missing(SIMULATED_PEOPLE)
#: Who is what in the scope sentence: whoever gives labels, simulated or not, is no judge, and neither is planted truth.
_KINDS = {
    "judges": BY_JUDGE & ~_SIMULATED,
    "people": (pl.col("rater_kind") == "human") & ~_SIMULATED,
    SIMULATED_PEOPLE: _SIMULATED,
    "references": pl.col("rater_kind") == "reference",
}
_ONE = {"judges": "judge", "people": "person", SIMULATED_PEOPLE: "simulated person", "references": "reference"}
_ONE |= {"agents": "agent", "tasks": "task"}
#: Named on a page only where there are such.
_IF_ANY = (SIMULATED_PEOPLE, "references")


@dataclass(frozen=True)
class Scope:
    """Raters, agents and tasks behind a page.

    Attributes
    ----------
    sentence : str
        The scope sentence: judges, people, agents and tasks, named and counted.
    banner : str or None
        The warning that stands on page, tables and figures when ratings are simulated or planted.
    conditional_on : dict of str to list of str
        Every judge, person, agent and task by name.
    raters : list of dict
        One row a rater: rater, kind, family, model, ratings, lost.
    retirement : str
        Which of the judges can no longer be asked from which day on, as far as data/lifecycle.toml knows; the same on
        every day the page is made, and empty where there is none.
    injection : str
        How many ratings are of runs that hold text that speaks to their judge, by kind; empty where there are none.
    """

    sentence: str
    banner: str | None
    short_banner: str | None
    conditional_on: dict[str, list[str]]
    raters: list[dict[str, Any]]
    retirement: str = ""
    injection: str = ""


def scope_of(ratings: pl.DataFrame) -> Scope:
    """The scope of a ratings table."""
    raters = (
        ratings.group_by("rater", "rater_kind", "family", "model")
        .agg(ratings=pl.len(), lost=(pl.col("status") != "ok").sum())
        .sort("rater_kind", "family", "rater", "model", nulls_last=True)
        .to_dicts()
    )
    kinds = {kind: _names(ratings.filter(chosen), "rater") for kind, chosen in _KINDS.items()}
    named = {
        **{kind: names for kind, names in kinds.items() if names or kind not in _IF_ANY},
        "agents": _names(ratings, "agent"),
        "tasks": _names(ratings, "task_id"),
    }
    made = sorted(set(ratings["rater_kind"]) & {"simulated", "planted"}, reverse=True)
    return Scope(
        sentence=_sentence(named, raters, ratings.height),
        banner=_banner(ratings, made),
        short_banner=f"{' and '.join(made).capitalize()} ratings: not measurements" if made else None,
        conditional_on=named,
        raters=raters,
        retirement=" ".join(retirement.sentence for retirement in known_retirements(named["judges"])),
        injection=_injection(ratings),
    )


def ratings_sha256(ratings: pl.DataFrame) -> str:
    """Hash of what the ratings say, in an order of their own: times, costs of time and run ids are left out.

    Of an opening's stamp the number stays and the ledger's hash goes: that covers the time of the opening.
    """
    numbered = pl.element().str.replace(r"^(opening:\d+):[0-9a-f]+$", "$1")
    rows = ratings.drop(VOLATILE, strict=False).with_columns(pl.col("flags").list.eval(numbered))
    rows = rows.sort(*IDENTITY, maintain_order=True)
    digest = hashlib.sha256()
    for part in rows.iter_slices(50_000):
        digest.update(part.write_ndjson().encode())
    return digest.hexdigest()


def asked_of(ratings: pl.DataFrame) -> list[dict[str, Any]]:
    """What each judge was asked with, and which model said that it answered: one row a rater, question and rubric.

    `prompts` counts the different prompts and `prompts_sha256` is one hash of all of theirs; both are 0 and None for
    raters who read none. People and planted truth are no judges.
    """
    by = ("rater", "rater_version", "question", "rubric_version", "rubric_sha256")
    prompts = pl.col("prompt_sha256").drop_nulls().unique().sort()
    rows = (
        ratings.filter(_KINDS["judges"])
        .group_by(by)
        .agg(returned_models=pl.col("returned_model").drop_nulls().unique().sort(), prompt=prompts)
        .sort(by, nulls_last=True)
        .to_dicts()
    )
    for row in rows:
        hashes = row.pop("prompt")
        row["prompts"] = len(hashes)
        row["prompts_sha256"] = hashlib.sha256("\n".join(hashes).encode()).hexdigest() if hashes else None
    return rows


def _names(ratings: pl.DataFrame, column: str) -> list[str]:
    return [str(name) for name in ratings[column].drop_nulls().unique().sort() if str(name).strip()]


def _sentence(named: dict[str, list[str]], raters: list[dict[str, Any]], n_ratings: int) -> str:
    parts = [_counted(names, _ONE[kind], kind) for kind, names in named.items() if names or kind not in _KINDS]
    lost = sum(rater["lost"] for rater in raters)
    loss = f" {lost:,} of {many(n_ratings, 'rating')} {'holds' if lost == 1 else 'hold'} no verdict." if lost else ""
    alike = " Where nothing else is said each item counts alike, so that large tasks count for more."
    others = f"others may give other numbers.{alike if named['tasks'] else ''}{loss}"
    return f"The ratings behind this page come from {listed(parts)}; {others}"


def _counted(names: list[str], one: str, many: str) -> str:
    if not names:
        return f"{many} without names"
    most = fitting(names, _NAMED)
    rest = len(names) - most
    shown = ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
    return f"{len(names)} {one if len(names) == 1 else many} ({shown})"


def _injection(ratings: pl.DataFrame) -> str:
    """How many ratings bear the flag, of how many runs, and which kinds of text they hold."""
    flags = (
        ratings.select("trajectory_id", "flags").explode("flags").filter(pl.col("flags").str.starts_with(f"{FLAG}:"))
    )
    if flags.is_empty():
        return ""
    flagged = ratings.filter(pl.col("flags").list.eval(pl.element().str.starts_with(f"{FLAG}:")).list.any())
    kind = pl.col("flags").str.split(":").list.get(1)
    runs = (
        flags.group_by(kind.alias("kind")).agg(n=pl.col("trajectory_id").n_unique()).sort("n", "kind", descending=True)
    )
    kinds = ", ".join(f"{KIND_WORDS.get(name, name)} in {n:,}" for name, n in runs.iter_rows())
    n_runs = many(flagged["trajectory_id"].n_unique(), "run")
    are = "is" if flagged.height == 1 else "are"
    several = "; a run may hold several" if runs["n"].sum() > flagged["trajectory_id"].n_unique() else ""
    return (
        f"{flagged.height:,} of the {ratings.height:,} ratings {are} of {n_runs} with text that speaks to the judge "
        f"({kinds}{several}). They are flagged; a flag does not say whether a judge followed the text."
    )


def _banner(ratings: pl.DataFrame, made: list[str]) -> str | None:
    if not made:
        return None
    is_made, n_all = pl.col("rater_kind").is_in(made), ratings.height
    chosen, rest = ratings.filter(is_made), ratings.filter(~is_made)
    names = [name for name in _names(chosen, "rater") if name not in made]
    named = f" ({listed(names, most=_NAMED)})" if names else ""
    counts = f"{chosen.height:,} of the {n_all:,}" if rest.height else f"all {n_all:,}"
    by = list(dict.fromkeys(map(judge_words, _names(rest, "rater"))))
    one = "1 is" if rest.height == 1 else f"{rest.height:,} are"
    others = f"; the other {one} by {listed(by, most=_NAMED)}" if by else ""
    kinds = f"{' and '.join(made).capitalize()} ratings: {counts} behind this page{named}"
    how = f"{'is' if chosen.height == 1 else 'are'} {' or '.join(map(_MADE.__getitem__, made))}"
    what = f"{kinds} {how} and {'measures' if chosen.height == 1 else 'measure'} nothing real{others}"
    real = not rest.filter(pl.col("rater_kind").is_in(["llm", "human"])).is_empty()
    only = not real and ("simulated" in made or _invented(ratings))
    return f"{what}. {_runs_and_people(ratings)}{' A rehearsal: its advice is an example.' if only else ''}"


def _invented(ratings: pl.DataFrame) -> bool:
    """Whether the runs behind ratings are invented, as far as their agents tell."""
    return not ratings["agent"].null_count() and set(_names(ratings, "agent")) <= _INVENTED


def _runs_and_people(ratings: pl.DataFrame) -> str:
    """Whether the runs behind ratings are invented, and how many ratings are people's."""
    labels = ratings.filter(_KINDS["people"]).height
    n_runs = ratings["trajectory_id"].n_unique()
    nobody = f"no person rated {'it' if n_runs == 1 else 'them'}"
    people = f"{agreeing(labels, 'rating', 'is', 'are')} by people" if labels else nobody
    if not _invented(ratings):
        return sentence_case(f"{people}.") if labels else "No person rated anything."
    runs = "Their run is invented too" if n_runs == 1 else f"Their {n_runs:,} runs are invented too"
    return f"{runs}; {people}."
