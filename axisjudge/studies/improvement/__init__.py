"""Is an edit of a rubric that a model wrote better, and on tasks that it was not made from? (notebook 16)

`axisjudge.improve` and `axisjudge rubric improve` give an `Improvement`; here it is told, drawn and loaded again.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal

import polars as pl

from axisjudge.figures import theme
from axisjudge.figures.markup import cut
from axisjudge.results import columns
from axisjudge.stats.acceptance import SHOWN_GAIN, ShownBetter
from axisjudge.stats.estimate import many
from axisjudge.studies._shared.result import Part, Study, open_door

#: How a search ended: shown better and written, refused by what comes after, not shown, or nothing to show.
Ending = Literal["accepted", "refused", "not_shown", "no_candidate"]


#: What a gain is a gain of, by the target of the search.
_OF = {
    "reference": "agreement with the reference",
    "agreement": "agreement between judges",
}
#: Labels by the kind of those who gave them.
_LABELS = {"human": "people's labels", "planted": "planted labels"}


class _Rows(Part):
    """A part whose table is its frame."""

    _rows = "frame", {}

    frame: pl.DataFrame


class CandidateTree(
    _Rows, name="candidates", caption="Candidates, each with its parent, its reason and what became of it"
):
    """Every text that was proposed: its parent, why it was made, its gains on train and select tasks, its cost.

    One row a candidate; gains are shares of agreement above the first text's, on the same items.
    """

    @property
    def answer(self) -> str:
        """How many answers could not be read, and how many edits were proposed, refused and judged."""
        made = self.frame.filter(pl.col("parent").is_not_null() & (pl.col("became") != "lost"))
        lost = self.frame.filter(pl.col("became") == "lost").height
        if lost and made.is_empty():
            return f"No edit was proposed: of {many(lost, 'answer')} of the proposer none could be read."
        judged = made.filter(pl.col("select_gain").is_not_null())
        refused = made.filter(pl.col("became") == "refused").height
        return (
            f"{many(made.height, 'edit')} proposed: {refused} refused before a judge read them, {judged.height} judged "
            f"on the select tasks, {judged.filter(pl.col('select_gain') > 0).height} of these with a gain there."
            + (f" {many(lost, 'further answer')} could not be read." if lost else "")
        )

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Candidates in the order in which they were made, at their select gain, each joined with its parent."""
        from matplotlib.ticker import MaxNLocator

        ax = theme.new_axes(7.4, 3.4) if ax is None else ax
        at: dict[tuple[int, str], tuple[int, float]] = {}
        for x, row in enumerate(self.frame.to_dicts()):
            if row["select_gain"] is None:
                ax.plot(x, 0, "x", color="0.6", markersize=4)
                continue
            at[row["search"], row["key"]] = x, 100 * row["select_gain"]
            ends = [at[row["search"], key] for key in (row["parent"] or row["key"], row["key"])]
            ax.plot(*zip(*ends, strict=True), color="0.75", linewidth=1, zorder=1)
            taken = row["became"] in ("accepted", "confirmed")
            ax.plot(*ends[1], "o", color="#0b6e4f" if taken else "0.35", markersize=8 if taken else 5, zorder=2)
        ax.axhline(0, color="0.5", linewidth=0.8)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        across = "candidate, in the order of proposals (crosses: never judged on select tasks)"
        title = "The search as a tree: the green candidate was taken to the confirm tasks"
        return theme.dress(ax, title, x=across, y="gain on select tasks, points", lines="y")


class ConfirmedGain(_Rows, name="confirmed", caption="The gain where the edit was made, and where it was not"):
    """The candidate's gain on train tasks beside that on confirm tasks, and the bets against parent and controls.

    One row a comparison: whose judges, on which tasks, gain, its bounds, e-value.
    """

    shown: ShownBetter | None

    @property
    def answer(self) -> str:
        """Both gains, and what of the first did not carry over: the optimism."""
        train = self.frame.filter(pl.col("tasks") == "train")
        if self.shown is None or train.is_empty():
            return "No candidate was taken to the confirm tasks."
        gain = self.shown.gain
        made, kept = (round(100 * share) for share in (train["gain"][0], gain.estimate))
        ends, optimism = _bounds(gain.ci_low, gain.ci_high), many(max(0, made - kept), "point")
        return (
            f"It gained {made:+} points where it was made, and {kept:+} ({ends}) on "
            f"{many(gain.n_clusters, 'task')} that it was not made from: {optimism} did not carry over.{self._apart}"
        )

    @property
    def _apart(self) -> str:
        """Which judges it helps and which it hurts, where there are both; bounds of each stand in the table."""
        alone = self.frame.drop_nulls("judge").sort("gain").select("judge", "gain").rows()
        if len(alone) < 2 or not alone[0][1] < 0 < alone[-1][1]:
            return ""
        (hurt, loss), (helped, gain) = alone[0], alone[-1]
        return f" It helps {helped} ({100 * gain:+z.0f} points) and hurts {hurt} ({100 * loss:+z.0f})."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """A mark with its bounds for each comparison."""
        rows = self.frame.to_dicts()
        ax = theme.new_axes(7.4, 1.4 + 0.45 * max(1, len(rows))) if ax is None else ax
        for n, row in enumerate(rows):
            if row["low"] is not None:
                ax.plot([100 * row["low"], 100 * row["high"]], [n, n], color="0.5", linewidth=2)
            ax.plot(100 * row["gain"], n, "o" if row["tasks"] == "confirm" else "D", color="#0b6e4f", markersize=6)
            theme.at_the_right(ax, n, f"{100 * row['gain']:+z.0f}")
        names = {"train": "over the old rubric, where made", "confirm": "over the old rubric"}
        against = {
            "paraphrase": "over control: paraphrased",
            "reordered": "over control: examples reordered",
            "padding": "over control: empty words",
        }
        own = [against.get(row["against"], names[row["tasks"]]) for row in rows]
        judges = [f"{names['confirm']}: {row['judge']} alone" if row["judge"] else "" for row in rows]
        theme.named_rows(ax, [judge or name for judge, name in zip(judges, own, strict=True)])
        ax.axvline(0, color="0.5", linewidth=0.8)
        over = "" if self.shown is None else f"; {theme.intervals(self.shown.gain)}"
        x = f"points of agreement gained{over}"
        note = "diamond: on the tasks that the edit was made from; dots: on others"
        beside = "an edit counts as better only where it beats the old rubric and every control"
        return theme.dress(ax, "What the edited rubric gains", note, how=f"{note}; {x}; {beside}", x=x, lines="x")


class SentenceWorth(_Rows, name="sentences", caption="What each changed sentence earned, by leaving it out"):
    """Of each sentence that the accepted text has and the first has not: what is lost where it is left out.

    One row a sentence: points of agreement on confirm tasks that go with it, and verdicts that it turned; `flips` has
    these one by one, ``before`` without the sentence and ``after`` with it, in all repeats.
    """

    flips: pl.DataFrame = field(default_factory=pl.DataFrame, metadata={"plain": False})

    @property
    def answer(self) -> str:
        """The sentence that earned most."""
        if self.frame.is_empty():
            return "No sentence was left out to see what it earned."
        first = self.frame.sort("points", descending=True).row(0, named=True)
        on, text = many(first["items"], "run"), cut(first["sentence"], 120)
        return (
            f"Of {many(self.frame.height, 'changed sentence')} one earns most, {100 * first['points']:+.0f} points by "
            f"leaving it out ({on}; not confirmed anew): \u201c{text}\u201d"
        )

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """A bar a sentence."""
        rows = self.frame.sort("points").to_dicts()
        ax = theme.new_axes(7.4, 1.2 + 0.45 * max(1, len(rows))) if ax is None else ax
        ax.barh(range(len(rows)), [100 * row["points"] for row in rows], color="#0b6e4f", height=0.5)
        theme.named_rows(ax, [cut(row["sentence"], 60) for row in rows])
        x = "points of agreement lost where it is left out"
        return theme.dress(ax, "What each changed sentence earned", x=x, lines="x")


class JudgedCandidates(
    _Rows, name="front", caption="Candidates by agreement, decided share and length, family by family"
):
    """Several aims at once: no candidate on the front is beaten by another one on all of them.

    One row a candidate and judge, on the select tasks of its search.
    """

    @property
    def answer(self) -> str:
        """How many candidates stand on the front, and whether an edit helps one judge and hurts another."""
        others = self.frame.filter(pl.col("key") != self.frame["key"][0])
        front, n = (each["key"].n_unique() for each in (others.filter(pl.col("on_front")), others))
        both = self.frame.group_by("search", "key").agg(low=pl.col("gain").min(), high=pl.col("gain").max())
        split = both.filter((pl.col("low") < 0) & (pl.col("high") > 0)).height
        judges = self.frame["judge"].n_unique()
        apart = f" Candidates that help one judge and hurt another: {split}." if split and judges > 1 else ""
        aims = "agreement, decided share and length"
        judged = many(n, "judged candidate")
        if not n:
            return "No candidate was judged on the select tasks."
        if not front:
            return f"The first text is at least as good as each of {judged} in {aims}."
        return f"{front} of {judged} beaten by no other text in {aims}: the choice is yours.{apart}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Agreement against length, the front filled."""
        ax = theme.new_axes(6.4, 3.6) if ax is None else ax
        for n, (judge, of) in enumerate(self.frame.group_by("judge", maintain_order=True)):
            for row in of.to_dicts():
                face = f"C{n}" if row["on_front"] else "none"
                ax.plot(row["tokens"], 100 * row["agreement"], "o", markerfacecolor=face, markeredgecolor=f"C{n}")
            ax.plot([], [], "o", color=f"C{n}", label=str(judge[0]))
        ax.legend(fontsize=7, frameon=False)
        axes = {"x": "tokens of the rubric", "y": "agreement on select tasks, %"}
        return theme.dress(ax, "Agreement and length; filled: on the front", lines="both", **axes)


class ChangedVerdicts(_Rows, name="flips", caption="Verdicts that the edit turned, on confirm tasks"):
    """Each verdict that differs between parent and candidate, with the label and both reasons.

    One row a turned verdict.
    """

    @property
    def answer(self) -> str:
        """How many went towards the label, and how many away."""
        if self.frame.is_empty():
            return "The edit turned no verdict on the confirm tasks."
        turned = many(self.frame.height, "turned verdict")
        if self.frame["label"].is_null().all():
            return f"{turned}; no label says which way is right."
        to, away = (self.frame.filter(pl.col("towards") == way).height for way in (True, False))
        return f"Of {turned} {to} went to the label and {away} away from it."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Turned verdicts by what they were and became."""
        counts = self.frame.group_by("before", "after", "towards").len().sort("len", "before", "after")
        ax = theme.new_axes(6.4, 1.2 + 0.4 * max(1, counts.height)) if ax is None else ax
        colours = [{True: "#0b6e4f", False: "#b3261e"}.get(towards, "0.5") for towards in counts["towards"]]
        ax.barh(range(counts.height), counts["len"].to_list(), color=colours, height=0.5)
        theme.named_rows(ax, [f"{row['before']} to {row['after']}" for row in counts.to_dicts()])
        return theme.dress(ax, "What the edit turned", x="verdicts (green: to the label, red: away from it)")


class SimulatedStudies(
    _Rows, name="studies", caption="Accepted, and falsely so, where truth is known", of_ratings=False
):
    """How often an edit is accepted, and falsely so, where the truth is known: ours beside plain GEPA.

    One row a design, proposer, number of tasks and way (``data/reference/improvement.csv``).
    """

    @property
    def answer(self) -> str:
        """The worst false acceptance of each way, and what is found at the most tasks."""
        worst = self.frame.group_by("way").agg(pl.col("falsely_accepted").max()).sort("way").rows()
        n = " or ".join(f"{each:,}" for each in self.frame["studies"].unique().sort())
        text = " and ".join(f"{share:.0%} by {way}" for way, share in worst)
        good = self.frame.filter((pl.col("proposer") == "good") & (pl.col("design") == "made on")).sort("tasks").tail(2)
        accepted = ", ".join(f"{row['accepted']:.0%} by {row['way']}" for row in good.to_dicts())
        what = "an edit that is no better is accepted"
        return f"Of {n} studies a row, {what} in {text} at worst; a good one, at most tasks, in {accepted}."

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Falsely accepted of the proposers that better nothing, a row each."""
        rows = self.frame.filter((pl.col("design") == "made on") & (pl.col("proposer") != "good"))
        names = rows.select("proposer", "tasks").unique(maintain_order=True).sort("proposer", "tasks").rows()
        ax = theme.new_axes(7.4, 1.4 + 0.3 * max(1, len(names))) if ax is None else ax
        for row in rows.to_dicts():
            colour = "#0b6e4f" if row["way"] == "axisjudge" else "#b3261e"
            ax.plot(100 * row["falsely_accepted"], names.index((row["proposer"], row["tasks"])), "o", color=colour)
        theme.named_rows(ax, [f"{proposer}, {tasks} tasks" for proposer, tasks in names])
        x = "% of studies that accept an edit that is no better (green: ours, red: others)"
        return theme.dress(ax, "Falsely accepted, by who proposes", x=x, lines="x")


def simulated_studies(frame: pl.DataFrame | None = None) -> SimulatedStudies:
    """The studies in which the truth is known, as they were counted, or those of a frame with the same columns."""
    from axisjudge.workbench import find

    return SimulatedStudies(pl.read_csv(find("data/reference/improvement.csv")) if frame is None else frame)


class Improvement(Study):
    """What a search for a better rubric came to; `text` is the candidate's, `first_text` what it was to better."""

    _keys = columns(
        "axis base target ending version noise answer why labels=n_labels more_labels repeats=n_repeats spent_usd "
        "usd_a_point=cost_per_point shown=confirmed.shown candidates=candidates.frame confirmed=confirmed.frame "
        "sentences=sentence_worth.frame sentence_flips=sentence_worth.flips notes"
    )
    axis: str
    base: str
    target: str
    ending: Ending
    version: str | None
    why: tuple[str, ...]
    text: str | None
    first_text: str
    noise: float
    n_labels: int
    n_repeats: int
    spent_usd: float
    candidates: CandidateTree
    confirmed: ConfirmedGain
    front: JudgedCandidates
    flips: ChangedVerdicts
    sentence_worth: SentenceWorth
    more_labels: int | None = None
    notes: tuple[str, ...] = ()
    ratings_path: str = ""
    labelled_by: str = ""

    def ratings(self) -> pl.DataFrame:
        """What the judges were asked on this axis, from the file in the workbench; no row where it is not there."""
        from axisjudge.ratings import ratings_frame, read_ratings
        from axisjudge.workbench import home

        path = home() / self.ratings_path
        return read_ratings(path).filter(pl.col("question") == self.axis) if path.is_file() else ratings_frame([])

    @property
    def is_accepted(self) -> bool:
        return self.ending == "accepted"

    @property
    def answer(self) -> str:
        """Accepted or not, by how much, and what would show more."""
        shown, more = self.confirmed.shown, self._more
        if shown is None:
            why = "no candidate gained on the select tasks"
            if self._is_mute:
                why = "the proposer gave no edit that can be read"
            elif self._made.is_empty():
                why = "the judges erred on no case that the proposer could have been shown"
            return f"No improvement shown: {why}.{more}"
        gain = shown.gain
        on = f"{many(gain.n_items, 'run')} of {many(gain.n_clusters, 'task')} that it was not made from"
        of = _OF.get(self.target) or f"agreement with {_LABELS.get(self.labelled_by, 'labels')}"
        points = f"{100 * gain.estimate:+z.0f} points of {of} ({_bounds(gain.ci_low, gain.ci_high)})"
        if self.ending == "accepted":
            better = f"{self.axis} {self.version} is better than {self.base}"
            paid = f" It cost ${self.spent_usd:,.2f}, ${self.cost_per_point:,.2f} a point." if self.spent_usd else ""
            return f"{better}: {points} on {on}, and better than both controls.{paid}"
        if self.ending == "refused":
            return f"Not taken, although the edited rubric gained {points} on {on}: {'; '.join(self.why)}."
        return f"No improvement shown: the best edited rubric gained {points} on {on}.{more}"

    @property
    def _more(self) -> str:
        things, points = "labelled runs" if self.target == "labels" else "runs", f"{100 * SHOWN_GAIN:.0f} points"
        if not self.more_labels:
            return f" These {things} would have shown a gain of {points} more often than not."
        return f" About {self.more_labels:,} more {things} would show a gain of {points}."

    @property
    def _made(self) -> pl.DataFrame:
        """What the proposer answered, row by row."""
        return self.candidates.frame.filter(pl.col("parent").is_not_null())

    @property
    def _is_mute(self) -> bool:
        """Whether the proposer was asked, and no answer could be read."""
        return not self._made.is_empty() and (self._made["became"] == "lost").all()

    @property
    def next_step(self) -> str:
        """What to do with the edit."""
        if self.is_accepted:
            return f"Read the verdicts that {self.version} turned, listed below; then lock it (axisjudge rubric lock)."
        if self._is_mute:
            return f"Keep {self.base}, and take another proposer: none of its answers could be read."
        if self.more_labels:
            what = "Label" if self.target == "labels" else "Judge"
            return f"Keep the rubric {self.base}. {what} about {self.more_labels:,} more runs, then search again."
        return f"Keep {self.base}, and read where judges and labels differ: the next edit begins there."

    @property
    def cost_per_point(self) -> float | None:
        """US dollars a point of shown gain; None where none is shown."""
        shown = self.confirmed.shown
        if self.ending != "accepted" or shown is None:
            return None
        return self.spent_usd / (100 * shown.gain.estimate)


def improvement(path: str | Path) -> Improvement:
    """The improvement that `axisjudge rubric improve` saved (``rubrics/AXIS/drafts/improvement.json.gz``).

    Raises
    ------
    InputError
        No such file, or something else in it.
    """
    return Improvement.load(path)


def _bounds(low: float, high: float) -> str:
    return f"between {_in_points(low)} and {_in_points(high)}"


def _in_points(share: float) -> str:
    """Whole points; below one the first digit that is not 0, so that a bound above 0 reads so."""
    return f"{100 * share:{'+.0f' if abs(share) >= 0.01 else '+.1g'}}"


open_door(improvement)
