"""Do judges point at the same steps, and does a judge agree with itself? (notebook 02)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from axisjudge.figures import theme
from axisjudge.ratings.edge import BY_JUDGE, as_ratings
from axisjudge.results import columns
from axisjudge.studies._shared.citations import SharedSteps as SharedSteps
from axisjudge.studies._shared.citations import shared_steps as shared_steps
from axisjudge.studies._shared.frames import Given, Table, commonest, kind_of, made_up_raters
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import many
from axisjudge.studies.evidence import repeats as say
from axisjudge.studies.evidence.repeats import AskedAgain as AskedAgain
from axisjudge.studies.evidence.repeats import PublishedRepeat as PublishedRepeat
from axisjudge.studies.evidence.repeats import SelfPreferenceReport as SelfPreferenceReport
from axisjudge.studies.evidence.repeats import asked_again as asked_again
from axisjudge.studies.evidence.repeats import published_repeat as published_repeat
from axisjudge.studies.evidence.repeats import self_preference_report
from axisjudge.trajectory import Trajectory


class CitationsOfJudges(
    Part, name="cited_steps", caption="Citations per judge, and the share of cited steps that exist"
):
    """Citations per judge, and the share of cited steps that exist; the pairs stand with the shared steps."""

    _keys = columns("judges=citations.judges")

    citations: SharedSteps

    @property
    def table(self) -> Table:
        """One row a judge."""
        return self.citations.judges_frame()

    @property
    def answer(self) -> str:
        """How many of each judge's cited steps exist."""
        return " ".join(judge.sentence for judge in self.citations.judges if judge.n_cited)


def cited_steps(shared: SharedSteps) -> CitationsOfJudges:
    """Whether cited steps exist, judge by judge."""
    return CitationsOfJudges(shared, kind=shared.kind, made_up=shared.made_up)


def own_family(
    ratings: Given, runs: Sequence[Trajectory] = (), *, repeat: int = 0, ci_level: float = 0.95
) -> SelfPreferenceReport | None:
    """Are judges kinder to agents of their own family? None where no agent's family is known."""
    rated = set(as_ratings(ratings)["trajectory_id"])
    families = {run.id: run.agent_family for run in runs if run.id in rated and run.agent_family}
    return self_preference_report(ratings, families, repeat=repeat, ci_level=ci_level) if families else None


class Evidence(Study):
    """Cited steps of judges, judges asked again, and judges of an agent's own family (None: no family is known)."""

    shared: SharedSteps
    cited: CitationsOfJudges
    repeats: AskedAgain
    self_preference: SelfPreferenceReport | None

    @property
    def answer(self) -> str:
        """Whether judges share more steps than chance, and who agrees least with itself."""
        return answer_of(self.shared, self.repeats)


def answer_of(shared: SharedSteps, repeats: AskedAgain) -> str:
    """Whether judges share more steps than chance, and who agrees least with itself."""
    judges = repeats.judges
    again = {f"{each.judge} on {each.question}": each.with_itself for each in judges if each.with_itself}
    return say.answer(shared.overlap_sentence if shared.any_cited else shared.sentences[0], again)


def evidence(
    ratings: Given,
    runs: Sequence[Trajectory] = (),
    *,
    repeat: int = 0,
    n_bands: int = 3,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Evidence:
    """Do judges point at the same steps, and does a judge agree with itself?

    Parameters
    ----------
    ratings, runs, repeat, cluster_unit, ci_level
        As `shared_steps` takes them; the ratings with all repeats.
    n_bands
        As `asked_again` takes it.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat, or runs that contradict the ratings.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["rules", "simulated:heron"], repeats=2, progress=False)
    >>> len(axisjudge.studies.evidence(ratings, runs).shared.table)
    5
    """
    shared = shared_steps(ratings, runs, repeat=repeat, cluster_unit=cluster_unit, ci_level=ci_level)
    return Evidence(
        shared=shared,
        cited=cited_steps(shared),
        repeats=asked_again(ratings, n_bands=n_bands, cluster_unit=cluster_unit, ci_level=ci_level),
        self_preference=own_family(ratings, runs, repeat=repeat, ci_level=ci_level),
    )


class BesideChance(Part, name="beside_chance", caption="Each judge beside one that always says the same word"):
    """Each judge beside the best judge that always says one word.

    One row a judge: counts; mean confidence where right and where wrong; right in shorter and in longer runs, None
    where it counted no tokens.
    """

    _rows = "rows", {}
    _keys = columns("judges=rows")

    rows: pl.DataFrame

    @property
    def answer(self) -> str:
        """How often each is right, what one word alone would reach, and whether its confidence knows the difference."""
        return " ".join(_sentence(row) for row in self.rows.iter_rows(named=True))

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Share that is right; the tick is what the commonest word of the labels would reach."""
        if self.rows.is_empty():
            return super().plot(ax)
        ax = theme.new_axes(6.4, 1.2 + 0.4 * self.rows.height) if ax is None else ax
        names = [name.partition(",")[0] for name in self.rows["judge"]]
        ax.plot(self.rows["right"] / self.rows["verdicts"], names, "o", color=theme.ACCENT)
        ax.plot(self.rows["one_word_right"] / self.rows["verdicts"], names, "|", color="#A34700", markersize=14)
        ax.set(xlim=(0, 1), xlabel="share of verdicts that are right; the tick: always the commonest word")
        theme.dress(ax, "")
        theme.grid(ax)
        return ax


def beside_chance(ratings: Given, truth: Given) -> BesideChance:
    """Does a judge say anything that one would not that always says the same?

    Parameters
    ----------
    ratings : table
        Ratings of judges; lost ones are counted and compared with nothing.
    truth : table
        Ratings that are taken for right: people's labels, planted truth. Of several on an item and question the
        commonest word counts, and none on a tie.
    """
    mine, labels = as_ratings(ratings), commonest(as_ratings(truth).filter(pl.col("status") == "ok"))
    judged = mine.filter(BY_JUDGE).join(labels, on=["item_id", "question"], maintain_order="left")
    judged = judged.with_columns(hit=pl.col("verdict") == pl.col("label"), length=pl.col("input_tokens"))
    rows = [_row(str(name), each) for (name,), each in judged.group_by("rater", maintain_order=True)]
    return BesideChance(pl.DataFrame(rows), kind=kind_of(ratings), made_up=made_up_raters(mine))


def _commonest(words: pl.Series) -> tuple[str | None, int]:
    """The word that is said most, the first by name of several, and how often."""
    return next(iter(Counter(sorted(words)).most_common(1)), (None, 0))


def _row(judge: str, rated: pl.DataFrame) -> dict[str, Any]:
    given = rated.filter(pl.col("status") == "ok")
    (word, says_it), (_, one_word_right) = _commonest(given["verdict"]), _commonest(given["label"])
    n_lengths, at = given["length"].count(), given["length"].rank("ordinal")
    return {
        "judge": judge,
        "asked": rated.height,
        "lost": rated.height - given.height,
        "verdicts": given.height,
        "right": int(given["hit"].sum()),
        "one_word_right": one_word_right,
        "commonest_word": word,
        "says_it": says_it,
        "confidences": given["confidence"].drop_nulls().n_unique(),
        "sure_when_right": given.filter("hit")["confidence"].mean(),
        "sure_when_wrong": given.filter(~pl.col("hit"))["confidence"].mean(),
        "cite_a_step": given.filter(pl.col("cited_step_indices").list.len() > 0).height,
        "right_in_shorter": int(given.filter(at <= n_lengths / 2)["hit"].sum()) if n_lengths else None,
        "right_in_longer": int(given.filter(at > n_lengths / 2)["hit"].sum()) if n_lengths else None,
    }


def _sentence(row: dict[str, Any]) -> str:
    judge = str(row["judge"]).partition(",")[0]
    if not row["verdicts"]:
        return f"{judge} gave no verdict to {many(row['asked'], 'question')}."
    more = row["right"] - row["one_word_right"]
    beside = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
    parts = [
        f"{judge} answered {row['verdicts']} of {many(row['asked'], 'question')} and was right on {row['right']}, "
        f"{beside} the commonest word alone would be; it says '{row['commonest_word']}' {many(row['says_it'], 'time')}"
    ]
    right, wrong = row["sure_when_right"], row["sure_when_wrong"]
    if right is not None and wrong is not None:
        parts.append(f"It is {right:.0%} sure on average where it is right and {wrong:.0%} where it is wrong")
    cited = row["cite_a_step"]
    parts.append(f"It cites a step in {cited} of {many(row['verdicts'], 'verdict')}" if cited else "It cites no step")
    return ". ".join(parts) + "."


open_door(evidence)
