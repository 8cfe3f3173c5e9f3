"""A turn of the calibration loop in parts: two rubric versions on the same runs, what changed, what may be said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.figures import theme
from axisjudge.figures.markup import cut
from axisjudge.results import columns, reached
from axisjudge.stats.comparisons.progress import Moved, ProgressVerdict, decide
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.citations import SharedSteps, shared_steps
from axisjudge.studies._shared.frames import Table, made_up_raters, native, table_of, words_of
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.ranking import Disagreements, PanelTriage, disagreements, panel_triage
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.versions import (
    Flip,
    JudgeShift,
    VersionAgreement,
    Versions,
    VersionVerdict,
    flips_of,
    judge_shifts,
    soft_split,
    version_agreement,
)
from axisjudge.verdict import VERDICTS

#: Number of steps of each run.
Steps = Mapping[str, int] | Table | None
FLIPPED = "#D55E00"
#: In a terminal a longer reason is cut, and the cut is stated.
CUT = 200
_JUDGE = columns(
    "judge items=n_items flipped=n_flipped turnover noise stayed=n_stayed confidence_before",
    "confidence_after shift=confidence.mean shift_low=confidence.change.ci_low",
    "shift_high=confidence.change.ci_high p_holm=confidence.p_adjusted",
)


class Turn(
    Part,
    caption="What the turn changed; intervals of the change over tasks, where they are computed",
    formats=dict.fromkeys(("change", "low", "high"), "+.3f"),
):
    """The comparison of two versions of one axis's rubric, figure by figure: what, before, after, change.

    `agreement` is the tested change; its p value is adjusted over the `family` of axes compared together. `contested`
    and `triage` are about the new version.
    """

    _keys = columns(
        "axis family versions n_items agreement soft flips citations same_text=pair.same_text aside=pair.aside",
        "left_out=pair.left_out occasions_apart=pair.apart triage banner judges=shifts",
    )

    pair: Versions
    family: tuple[str, ...]
    versions: tuple[VersionAgreement, VersionAgreement]
    agreement: Moved
    soft: Mapping[str, float]
    shifts: tuple[JudgeShift, ...]
    flips: tuple[Flip, ...]
    citations: SharedSteps
    contested: Disagreements
    triage: PanelTriage
    decision: ProgressVerdict

    axis = property(lambda self: self.pair.axis)
    before = property(lambda self: self.pair.before)
    after = property(lambda self: self.pair.after)
    judges = property(lambda self: self.pair.judges)
    n_items = property(lambda self: len(self.pair.items))
    n_flipped = property(lambda self: int(self.pair.flipped.sum()))
    title = property(lambda self: f"{self.axis}, {self.before} to {self.after}")

    outcome = property(sentences.outcome)
    reason = property(sentences.reason)
    headline = property(sentences.headline)
    found = property(sentences.found)
    answer = property(sentences.answer)
    needed = property(sentences.needed)
    split_sentence = property(sentences.split_sentence)

    @property
    def behind(self) -> dict[str, str]:
        """The items compared, as the explorer's filters."""
        side = {"side": self.pair.side} if self.pair.side else {}
        return {"on": self.axis, "versions": f"{self.before},{self.after}"} | side

    @property
    def table(self) -> Table:
        """One row a figure: coefficients of agreement, how common `incorrect` is, confidence where verdicts stayed."""
        old, new = (version.named for version in self.versions)
        tested = {"percent": self.agreement.change}
        figures: list[tuple[str, float, float, Estimate | None]] = [
            (sentences.LABELS.get(name, name), old[name].estimate, new[name].estimate, tested.get(name)) for name in new
        ]
        was, now = (version.shares.get("incorrect", 0.0) for version in self.versions)
        figures += [("verdicts that are incorrect", was, now, None)]
        figures += [
            (f"confidence of {of.judge} where its verdict stayed", of.confidence_before, of.confidence_after, change)
            for of in self.shifts
            if (change := reached(of, "confidence.change"))
        ]
        # without an interval of its own the ends are null, as NaN is above every number in polars
        rows = [
            {"what": what, "before": before, "after": after}
            | {"change": after - before if change is None else change.estimate}
            | {"low": reached(change, "ci_low"), "high": reached(change, "ci_high")}
            for what, before, after, change in figures
        ]
        return table_of(rows, self.kind)

    @property
    def details(self) -> tuple[str, ...]:
        """The figures behind the headline, in words."""
        shifts = (sentences.judge_shift(shift) for shift in self.shifts)
        return (*self.needed, *sentences.changed(self), *shifts, *sentences.beside(self))

    @property
    def brief(self) -> tuple[str, ...]:
        """The same without the judges one by one, for a page that has them in a matrix."""
        return (*sentences.changed(self), *sentences.beside(self))

    def moved_most(self, most: int) -> list[int]:
        """Positions of the runs on which any judge's belief moved farthest, farthest first."""
        before, after = self.pair.beliefs
        steps = np.nan_to_num(abs(after - before), nan=-1.0).max(axis=1)
        known = np.flatnonzero(steps >= 0).tolist()
        return sorted(known, key=lambda at: (-steps[at], self.pair.items[at]))[:most]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report, the decision in words."""
        word, needed = self.decision.outcome, self.decision.needed
        words = {"word": word, "reason": self.reason, "advice": sentences.advice(self.decision)}
        return {
            **super().to_dict(),
            "word": word,
            "decision": words | {"noise_measured": self.decision.noise_measured, "needed": needed},
            "n_contested": self.contested.n_split,
            "normalised": sentences.NORMALISED.format(ranked_over=self.pair.ranked_over),
        }


def turn_of(
    pair: Versions, rows: pl.DataFrame, agreement: Moved, *, seed: int, steps: Steps, most: int, how: Any, **of: Any
) -> Turn:
    """All that is said of two versions beside the tested change of `agreement`; `rows` are the ratings behind it.

    `how` is the `ci_level` and `cluster_unit` of intervals; what `of` names are fields of the turn.
    """
    before, after = (version_agreement(pair, version, seed=seed, **how) for version in (0, 1))
    shifts = judge_shifts(pair, cluster_unit=how["cluster_unit"], seed=seed)
    alphas = (before.coefficients["alpha"].estimate, after.coefficients["alpha"].estimate)
    rows = rows.with_columns(pl.col("repeat") - pl.col("repeat").min().over("rubric_version"))  # each from 0
    new = rows.filter(pl.col("rubric_version") == pair.after)
    newest = pooled(new, pair.axis)
    return Turn(
        pair=pair,
        versions=(before, after),
        agreement=agreement,
        soft=soft_split(pair),
        shifts=shifts,
        flips=flips_of(pair, rows),
        citations=shared_steps(rows, steps=steps, **how),
        contested=disagreements(new, newest, most=most),
        triage=panel_triage(newest, **how),
        decision=decide(agreement, alphas, [each.confidence for each in shifts if each.confidence is not None]),
        made_up=made_up_raters(rows),
        **of,
    )


class _OfTurn(Part):
    """A part of one turn: it is of the same items and ratings."""

    turn: Turn

    @property
    def behind(self) -> dict[str, str]:
        """The items compared."""
        return self.turn.behind


class JudgesMoved(
    _OfTurn,
    caption="Each judge: flips beside noise between repeats, confidence where the verdict stayed",
    formats={"turnover": ".1%", "noise": ".1%", "p_holm": ".3f"}
    | dict.fromkeys(("shift", "shift_low", "shift_high"), "+.3f"),
):
    """Each judge between the versions: flips beside noise, and its confidence where its verdict stayed."""

    _rows = "turn.shifts", _JUDGE
    _keys: ClassVar = {"judges": "turn.shifts"}

    answer = property(sentences.judges_moved)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Share of differing verdicts: between repeats of one version (open), across the versions (filled)."""
        ax = theme.new_axes(7.4, 1.5 + 0.55 * len(self.turn.shifts)) if ax is None else ax
        beside: dict[str, Any] = {"xytext": (9, 0), "textcoords": "offset points", "va": "center", "color": theme.QUIET}
        hollow: dict[str, Any] = {"color": "white", "markeredgecolor": theme.INK}
        for row, shift in enumerate(self.turn.shifts):
            if not math.isnan(shift.noise):
                ax.plot([shift.noise, shift.turnover], [row, row], color=theme.FAINT, linewidth=2.5, zorder=1)
                ax.plot(shift.noise, row, "o", **hollow, markersize=9)
            ax.plot(shift.turnover, row, "o", color=FLIPPED, markersize=7)
            directions = ", ".join(f"{count} {name}" for name, count in shift.directions.items())
            right = float(np.fmax(shift.turnover, shift.noise))
            ax.annotate(directions or "no verdict flipped", (right, row), **beside, fontsize=theme.SMALL)
        theme.named_rows(ax, [_short(shift.judge) for shift in self.turn.shifts])
        theme.percent_axis(ax)
        marks = {"between repeats of one version: noise": hollow, "across the versions": {"color": FLIPPED}}
        theme.legend_below(ax, marks)
        where = f"{many(self.turn.n_items, 'run')} in {self.turn.agreement.change.clusters}"
        title = f"Flips on {theme.in_words(self.turn.axis)}, {self.turn.before} to {self.turn.after}"
        note = f"share of pairs of verdicts on one run that differ; {where}"
        how = f"{_flipped(self.turn)}; {note}; open marks, the noise between repeats, stand in place of intervals"
        return theme.dress(ax, title, note, how=how)

    def plot_matrices(self) -> theme.Axes:
        """One matrix a judge: its verdict under the old version (down) against that under the new one (across).

        Counts of runs, shaded by the share of the row; off the diagonal the verdict flipped.
        """
        total = np.sum([shift.matrix for shift in self.turn.shifts], axis=0)
        used = np.flatnonzero(total.sum(axis=0) + total.sum(axis=1)).tolist()
        names = [f"{theme.look_of(VERDICTS[at]).sign} {theme.in_words(VERDICTS[at])}" for at in used]
        figure, axes, left = theme.panels(len(self.turn.shifts), width=3.5, height=1.5 + 0.42 * len(used))
        for ax, shift in zip(axes, self.turn.shifts, strict=True):
            counts = np.array(shift.matrix, dtype=float)[np.ix_(used, used)]
            rows = counts.sum(axis=1, keepdims=True)
            shares = np.divide(counts, rows, out=np.full_like(counts, math.nan), where=rows > 0)
            theme.plot_heatmap(shares, ax=ax, rows=names, columns=names, palette="Blues")
            for (row, column), count in np.ndenumerate(counts):
                weight = "bold" if row != column and count else "normal"
                style: dict[str, Any] = {"quiet": not count, "fontweight": weight, "fontsize": theme.LABEL}
                theme.cell_text(ax, row, column, f"{count:.0f}", **style)
            ax.tick_params(labelsize=theme.SMALL)
            ax.set_xticklabels([name.replace(" ", "\n") for name in names])
            ax.set_xlabel(f"{shift.n_flipped} of {shift.n_items} flipped", fontsize=theme.SMALL, color=theme.QUIET)
            ax.set_title(_short(shift.judge), loc="left", fontsize=theme.LABEL, color=theme.INK)
        axes[0].set_yticklabels(names, rotation=0)
        for ax in left:
            ax.set_ylabel(self.turn.before, fontsize=theme.SMALL, color=theme.QUIET)
        both = f"verdicts under {self.turn.before} (down) and {self.turn.after} (across)"
        _over_panels(figure, f"{theme.in_words(self.turn.axis)}: {both}")
        return axes[0]

    @property
    def text(self) -> str:
        """How each judge's verdicts moved, for a terminal: the old version down, the new one across."""
        lines = []
        for shift in self.turn.shifts:
            flipped = f"{shift.n_flipped} of {shift.n_items} flipped"
            lines.append(f"{shift.judge}: {flipped} ({self.turn.before} down, {self.turn.after} across)")
            lines.append(f"  {'':16}" + "".join(f"{word:>16}" for word in VERDICTS))
            rows = zip(VERDICTS, shift.matrix, strict=True)
            lines += [f"  {word:16}" + "".join(f"{n:>16}" for n in row) for word, row in rows if any(row)]
        return "\n".join(lines)


def judges_moved(turn: Turn) -> JudgesMoved:
    """What each judge did when the rubric changed."""
    return JudgesMoved(turn, kind=turn.kind, made_up=turn.made_up)


class BeliefsMoved(_OfTurn, caption="Each judge's belief that the run is correct, before and after"):
    """Each judge's belief that a run is correct, before and after, on its own scale; the runs first that moved most."""

    _keys: ClassVar = {"soft": "turn.soft"}

    most: int = 24

    @property
    def table(self) -> Table:
        """One row a run and judge; all of them."""
        pair, order = self.turn.pair, self.turn.moved_most(len(self.turn.pair.items))
        before, after = pair.beliefs[:, order].reshape(2, -1)
        names = list(product((pair.items[at] for at in order), pair.judges))
        runs = pl.DataFrame(names, schema={"run": pl.String, "judge": pl.String}, orient="row")
        moved = pl.DataFrame({"before": before, "after": after, "flipped": pair.flipped[order].ravel()})
        return native(pl.concat([runs, moved], how="horizontal"), self.kind)

    answer = property(lambda self: self.turn.split_sentence)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """One panel a judge: its belief that the run is correct, from the old version (open) to the new one (filled).

        The runs with a flipped verdict, orange, in one order for all judges, at most `most`; where none flipped, those
        on which any judge moved farthest.
        """
        turn, pair = self.turn, self.turn.pair
        moved = turn.moved_most(len(pair.items))
        flipped_runs = [at for at in moved if pair.flipped[at].any()]
        items = (flipped_runs or moved)[: self.most]
        figure, axes, _ = theme.panels(len(turn.judges), width=3.4, height=1.5 + 0.2 * len(items))
        for number, (ax, judge) in enumerate(zip(axes, turn.judges, strict=True)):
            for row, (before, after) in enumerate(pair.beliefs[:, items, number].T):
                colour = FLIPPED if pair.flipped[items[row], number] else theme.ACCENT
                ax.plot([before, after], [row, row], color=colour, linewidth=1.4, alpha=0.7, zorder=1)
                if not math.isnan(before + after):
                    ax.plot(before, row, "o", color="white", markeredgecolor=colour, markersize=5)
                    ax.plot(after, row, "o", color=colour, markersize=5)
            ax.axvline(0.5, color=theme.FAINT, linewidth=1, zorder=0)
            ax.set_xlim(-0.03, 1.03)
            theme.dress(ax, "", x="belief that the run is correct")
            ax.set_title(_short(judge), loc="left", fontsize=theme.LABEL, color=theme.INK)
            ax.tick_params(labelsize=theme.SMALL - 0.5)
        axes[0].set_yticks(range(len(items)), [pair.items[at] for at in items])
        axes[0].set_ylim(len(items) - 0.4, -0.6)
        beliefs = f"beliefs under {turn.before} (open) and {turn.after} (filled)"
        _over_panels(figure, f"{theme.in_words(turn.axis)}: {beliefs}; orange: the verdict flipped")
        flips = f"{len(items)} of {many(len(flipped_runs), 'run')} with a flip"
        shown = f"{flips if flipped_runs else 'the runs that moved most'}, of {turn.n_items} in all, one line each"
        theme.describe(figure, f"{_flipped(turn)} (orange); {shown}; single beliefs, without intervals")
        return axes[0]


def beliefs_moved(turn: Turn, *, most: int = 24) -> BeliefsMoved:
    """Beliefs before and after; `most` runs are drawn."""
    return BeliefsMoved(turn, most, kind=turn.kind, made_up=turn.made_up)


class Flipped(_OfTurn, caption="Flips, those first that changed agreement most"):
    """Every flip with both verdicts and reasons side by side; the `most` that changed agreement most are listed."""

    _keys: ClassVar = {"flips": "turn.flips"}

    most: int = 12

    @property
    def table(self) -> Table:
        """One row a flip."""
        turn = self.turn
        names = [name for version in (turn.before, turn.after) for name in (version, f"{version}, because")]
        rows = [
            {"run": flip.item, "axis": turn.axis, "judge": flip.judge}
            | dict(zip(names, [_given(old), old.rationale, _given(new), new.rationale], strict=True))
            for flip in turn.flips[: self.most]
            for old, new in [(flip.before, flip.after)]
        ]
        return table_of(rows, turn.kind, columns=["run", "axis", "judge", *names])

    answer = property(sentences.flips_counted)

    @property
    def text(self) -> str:
        """The same for a terminal, one flip under the other, long reasons cut."""
        lines = [f"{self.turn.banner} {self.answer}".strip()]
        for flip in self.turn.flips[: self.most]:
            sides = ((self.turn.before, flip.before), (self.turn.after, flip.after))
            lines.append(f"  {flip.item}, {flip.judge}")
            lines += [f"    {version}: {_given(one)}: {cut(one.rationale or '', CUT)}" for version, one in sides]
        return "\n".join("".join(letter if letter.isprintable() else " " for letter in line) for line in lines)


def flipped(turn: Turn, *, most: int = 12) -> Flipped:
    """The flips of a turn, both reasons side by side."""
    return Flipped(turn, most, kind=turn.kind, made_up=turn.made_up)


def _given(one: VersionVerdict) -> str:
    """Verdict, confidence and cited steps: ``✗ incorrect 0.93 cites 3, 5``."""
    sure = "" if one.confidence is None else f" {one.confidence:.2f}"
    cited = f"cites {', '.join(map(str, one.cited))}" if one.cited else "cites nothing"
    return f"{theme.look_of(one.verdict).sign} {theme.in_words(one.verdict)}{sure} {cited}"


class Contested(_OfTurn, caption="Contested items, to be read next"):
    """What judges are split on under the new version: the next version of the rubric begins there."""

    _flat = ("turn.contested",)

    table = property(lambda self: self.turn.contested.table)
    answer = property(lambda self: f"{self.turn.contested.answer} {self.turn.triage.answer}")

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Runs x judges: the verdicts under the new version on runs that judges are split on; framed, they flipped.

        The thirty runs with most flips come first; what the old version said stands small beside a flipped verdict.
        """
        turn, pair, (old, new) = self.turn, self.turn.pair, words_of(self.turn.pair.verdicts, VERDICTS)
        split = [at for at, words in enumerate(new) if {"correct", "incorrect"} <= {*words}]
        flips = pair.flipped.sum(axis=1)
        rows = sorted(split, key=lambda at: (-flips[at], pair.items[at]))[:30]
        ax = theme.new_axes(3.2 + 1.15 * len(turn.judges), 1.5 + 0.24 * max(len(rows), 1)) if ax is None else ax
        for (y, at), x in product(enumerate(rows), range(len(turn.judges))):
            look = theme.look_of(new[at, x])
            ax.plot(x, y, "s", color=look.colour, alpha=0.22, markersize=14, markeredgewidth=0)
            ax.text(x, y, look.sign, ha="center", va="center", color=look.colour, fontsize=theme.LABEL)
            if pair.flipped[at, x]:
                was = f"was {theme.look_of(old[at, x]).sign}"
                ax.plot(x, y, "s", color="none", markeredgecolor=theme.INK, markersize=14)
                ax.text(x + 0.2, y, was, va="center", color=theme.QUIET, fontsize=theme.SMALL - 1)
        ax.set_xticks(range(len(turn.judges)), [_short(judge) for judge in turn.judges])
        ax.xaxis.tick_top()
        ax.set_xlim(-0.5, len(turn.judges) - 0.3)
        ax.set_yticks(range(len(rows)), [pair.items[at] for at in rows])
        ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
        listed = "" if len(rows) == len(split) else f"; the {len(rows)} with most flips"
        signs = ", ".join(f"{theme.look_of(word).sign} {theme.in_words(word)}" for word in VERDICTS)
        where = (
            f"split in their commonest words on {len(split)} of {many(turn.n_items, 'run')} under {turn.after}{listed}"
        )
        note = f"{where}; framed: flipped from {turn.before}\n{signs}\n\n"
        theme.dress(ax, f"Contested on {theme.in_words(turn.axis)}\n\n", note)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(labelsize=theme.SMALL)
        return ax


def contested(turn: Turn) -> Contested:
    """The splits of the panel under the new version."""
    return Contested(turn, kind=turn.kind, made_up=turn.made_up)


def _flipped(turn: Turn) -> str:
    given = sum(shift.n_items for shift in turn.shifts)
    return f"{turn.n_flipped or 'none'} of {many(given, 'verdict')} flipped"


def _short(judge: str) -> str:
    return judge.removeprefix("simulated:")


def _over_panels(figure: theme.Figure, title: str) -> None:
    figure.suptitle(title, x=0.01, ha="left", fontsize=theme.LABEL, color=theme.INK)
