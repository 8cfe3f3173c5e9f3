"""How a judge looks beside one that knows nothing: words, confidence and citations that carry no information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from axisjudge.ratings.edge import as_ratings
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, made_up_raters, table_of
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class BesideChance(Part):
    """Each judge beside the best judge that always says one word."""

    name: ClassVar = "beside_chance"
    caption: ClassVar = "Each judge beside one that always says the same word"

    rows: pl.DataFrame
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a judge: counts; mean confidence where right and where wrong; right in shorter and in longer runs."""
        return table_of(self.rows.to_dicts(), self.kind)

    @property
    def answer(self) -> str:
        """How often each is right, what one word alone would reach, and whether its confidence knows the difference."""
        return " ".join(_sentence(row) for row in self.rows.iter_rows(named=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share that is right; the tick is what the commonest word of the labels would reach."""
        from axisjudge.figures.theme import ACCENT, dress, grid, new_axes

        ax = new_axes(6.4, 1.2 + 0.4 * self.rows.height) if ax is None else ax
        names = [name.partition(",")[0] for name in self.rows["judge"]]
        ax.plot(self.rows["right"] / self.rows["verdicts"], names, "o", color=ACCENT)
        ax.plot(self.rows["one_word_right"] / self.rows["verdicts"], names, "|", color="#A34700", markersize=14)
        ax.set(xlim=(0, 1), xlabel="share of verdicts that are right; the tick: always the commonest word")
        dress(ax, "")
        grid(ax)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """The rows."""
        return {"judges": self.rows.to_dicts()}


def beside_chance(ratings: Given, truth: Given) -> BesideChance:
    """Does a judge say anything that one would not that always says the same?

    Parameters
    ----------
    ratings : table
        Ratings of judges; lost ones are counted and compared with nothing.
    truth : table
        Ratings that are taken for right, one an item and question: people's labels, planted truth.
    """
    mine, labels = as_ratings(ratings), as_ratings(truth).filter(pl.col("status") == "ok")
    right = labels.select("item_id", "question", label="verdict").unique(["item_id", "question"])
    judged = mine.filter(~pl.col("rater_kind").is_in(["human", "planted"])).join(right, on=["item_id", "question"])
    judged = judged.with_columns(hit=pl.col("verdict") == pl.col("label"), length=pl.col("input_tokens"))
    rows = [_row(str(name), each) for (name,), each in judged.group_by("rater", maintain_order=True)]
    return BesideChance(pl.DataFrame(rows), kind_of(ratings), made_up=made_up_raters(mine))


def _row(judge: str, rated: pl.DataFrame) -> dict[str, Any]:
    said = rated.filter(pl.col("status") == "ok")
    words = said["verdict"].value_counts(sort=True)
    labels = said["label"].value_counts(sort=True)
    is_long = said["length"].rank("ordinal") > said.height / 2
    return {
        "judge": judge,
        "asked": rated.height,
        "lost": rated.height - said.height,
        "verdicts": said.height,
        "right": int(said["hit"].sum()),
        "one_word_right": int(labels["count"][0]) if labels.height else 0,
        "commonest_word": words["verdict"][0] if words.height else None,
        "says_it": int(words["count"][0]) if words.height else 0,
        "confidences": said["confidence"].n_unique(),
        "sure_when_right": said.filter("hit")["confidence"].mean(),
        "sure_when_wrong": said.filter(~pl.col("hit"))["confidence"].mean(),
        "cite_a_step": said.filter(pl.col("cited_step_indices").list.len() > 0).height,
        "right_in_shorter": int(said.filter(~is_long)["hit"].sum()),
        "right_in_longer": int(said.filter(is_long)["hit"].sum()),
    }


def _sentence(row: dict[str, Any]) -> str:
    judge = str(row["judge"]).partition(",")[0]
    if not row["verdicts"]:
        return f"{judge} gave no verdict to {many(row['asked'], 'question')}."
    more = row["right"] - row["one_word_right"]
    beside = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
    parts = [
        f"{judge} answered {row['verdicts']} of {many(row['asked'], 'question')} and was right on {row['right']}, "
        f"{beside} the commonest word alone would be; it says '{row['commonest_word']}' {row['says_it']} times"
    ]
    right, wrong = row["sure_when_right"], row["sure_when_wrong"]
    if right is not None and wrong is not None:
        parts.append(f"It is {right:.0%} sure on average where it is right and {wrong:.0%} where it is wrong")
    cited = row["cite_a_step"]
    parts.append(f"It cites a step in {cited} of {row['verdicts']} verdicts" if cited else "It cites no step")
    return ". ".join(parts) + "."
