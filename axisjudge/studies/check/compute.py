"""What one table of judges' and people's words says of each judge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from axisjudge.checks import InputError, one_of
from axisjudge.imports.recognise import Recognised
from axisjudge.ratings.scales import Level
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, coefficient_names
from axisjudge.stats.clustered import more_for_half_width, paired_share_difference
from axisjudge.stats.clusters import ALIKE, shared_by_chance
from axisjudge.stats.comparisons.ranking import RankSets, rank_sets
from axisjudge.stats.correction import SAMPLING, CorrectedRate, corrected_rate, pairwise_level
from axisjudge.stats.escalation import Alone, decides_alone
from axisjudge.stats.estimate import QUANTITIES, ClusteredShare, Decision, Estimate, Measured, decided, nothing_of
from axisjudge.stats.proportions import cluster_codes, clustered_mean, clustered_proportion, t_quantile
from axisjudge.stats.reference import balanced_accuracy
from axisjudge.studies._shared.frames import Floats, Kind, rows_of
from axisjudge.studies.check.columns import Roles
from axisjudge.studies.check.votes import Votes, differing

E = TypeVar("E", bound=Estimate)


def coefficients_of(level: Level) -> dict[str, str]:
    """Measure -> the coefficient of two raters that it is, as tables of agreement on scales of `level` show them."""
    return {name: of for name, of in coefficient_names(2, level).items() if of != "percent_agreement"}


CHANCE_CORRECTED = coefficients_of("nominal") | coefficients_of("ordinal")
#: Of many grades: how often judge and people are at most 1 apart, and the mean of judge less people.
OF_GRADES = ("within_one", "mean_difference")
#: The width that is asked for where a figure is too vague: plus or minus ten points.
WANTED_HALF_WIDTH = 0.1

#: What may be said of labelled items when only some are labelled, by how they were drawn (Begg and Greenes 1983):
#: choosing by verdict spoils what is given people's word, choosing by people's word what is given a verdict.
#: What bends agreement bends it beyond chance too.
_SPOILT = {
    "by_judge_verdict": ("sensitivity", "specificity", "f1", "balanced_accuracy", "agreement"),
    "by_key": ("sensitivity", "specificity", "precision", "f1", "balanced_accuracy", "agreement"),
    "by_human_label": ("precision", "f1", "agreement"),
}


@dataclass(frozen=True)
class CheckTerms:
    """What the figures rest on: the draw of the labels, the error a judge may make alone, the level of intervals."""

    sampling: str = "unknown"
    drawn_for: str = ""
    risk: float = 0.1
    ci_level: float = 0.95


@dataclass(frozen=True)
class JudgeCheck(Result):
    """One judge against people.

    `measures` holds estimates by name: sensitivity, specificity, precision, f1, balanced_accuracy (of the failing
    word, where it is known), agreement, and the coefficients of agreement beyond chance of the words' level; `by_word`
    the recall of every word. `failing_share` is the share of all items that the judge calls failing, `corrected` the
    share that people would, with its reason where there is none. `n_missing` counts labelled items without its verdict;
    `caught_bounds` is what sensitivity would be had it missed, or caught, all failing ones among them. `more_failures`
    is how many more failing items would bring sensitivity to +- `WANTED_HALF_WIDTH`; 0 where it is that narrow already.
    `other_way` holds the shares that go with the sizes of clusters, with what counts alike the other way round.
    """

    _keys = columns(
        "judge=name n_judged n_compared n_missing more_failures measures recall_by_word=by_word",
        "says_failing=failing_share corrected_rate=corrected decides_alone=alone why_not_alone caught_bounds",
        "other_way",
    )

    name: str
    n_judged: int
    n_compared: int
    n_missing: int
    measures: dict[str, Estimate]
    by_word: dict[str, ClusteredShare]
    failing_share: ClusteredShare | None = None
    corrected: CorrectedRate | None = None
    alone: Alone | None = None
    no_alone: str = ""
    more_failures: int | None = None
    caught_bounds: tuple[float, float] | None = None
    other_way: dict[str, ClusteredShare] = field(default_factory=dict)

    @property
    def why_not_alone(self) -> str:
        """Why it may decide nothing alone; empty where it may."""
        return self.no_alone or (self.alone.refusal if self.alone else "")


def terms_of(sampling: str, risk: float, ci_level: float, votes: Votes) -> CheckTerms:
    """The draw of the labels in the words that all commands use; ``by-judge=gpt`` names the judge it went by."""
    way, _, judge = sampling.partition("=")
    way = way.replace("-", "_")
    way = one_of("--sampling", {"by_judge": "by_judge_verdict", "by_human": "by_human_label"}.get(way, way), SAMPLING)
    if not votes.judges and way != "unknown":
        raise InputError("--sampling", "says how items were drawn for a judge, and none is compared", sampling)
    if judge and (way != "by_judge_verdict" or judge not in votes.judges):
        raise InputError("--sampling", "only by_judge_verdict=JUDGE names a judge of the file", sampling)
    if way == "by_judge_verdict" and not judge and len(votes.judges) == 1:
        judge = votes.judges[0]
    return CheckTerms(way, judge, risk, ci_level)


def comparable(votes: Votes, terms: CheckTerms) -> bool:
    """Whether labelled items show what judges catch and pass: not where they were chosen by a judge's verdict."""
    return votes.in_full or "sensitivity" not in _SPOILT.get(terms.sampling, ())


def judge_check(votes: Votes, number: int, terms: CheckTerms) -> JudgeCheck:
    """Everything about the judge at `number`."""
    codes = votes.ratings[:, number]
    measures = _agreement(votes, codes, terms)
    right = {word: hits(codes, votes.reference, code) for code, word in enumerate(votes.question.words)}
    by_word = {word: share(values, votes, terms.ci_level) for word, values in right.items()}
    failing: dict[str, Any] = {}
    if votes.question.directed:
        measures = _directed(votes, codes, terms) | measures
        failing = _failing(votes, number, measures, terms)
    alone = _alone(votes, number, terms)
    other_way = _other_way(votes, codes, terms)
    measures = {name: _allowed(each, name, votes, terms, number) for name, each in measures.items()}
    return JudgeCheck(
        name=votes.judges[number],
        n_judged=int((~np.isnan(codes)).sum()),
        n_compared=int((~np.isnan(codes) & votes.labelled).sum()),
        n_missing=int((votes.labelled & np.isnan(codes)).sum()),
        measures=measures,
        other_way={name: each for name, each in other_way.items() if not math.isnan(measures[name].estimate)},
        by_word={word: _allowed(each, "sensitivity", votes, terms, number) for word, each in by_word.items()},
        **failing,
        **({"alone": alone} if isinstance(alone, Alone) else {"no_alone": alone}),
    )


def share(values: Floats, votes: Votes, ci_level: float) -> ClusteredShare:
    """A share of items with the interval by cluster."""
    return clustered_proportion(values, alike=votes.alike, **votes.how(ci_level))


def _other_way(votes: Votes, codes: Floats, terms: CheckTerms) -> dict[str, ClusteredShare]:
    """Shares that go with the sizes of clusters (t of items alike less clusters alike), the other way round."""
    truth, other = votes.reference, next(each for each in ALIKE if each != votes.alike)
    every = {"agreement": equal(codes, truth)}
    if votes.question.directed:
        every |= {"sensitivity": hits(codes, truth, 1), "specificity": hits(codes, truth, 0)}
    shares = {}
    for name, values in every.items() if votes.ways else ():
        of_items = clustered_proportion(values, votes.ways[0])
        if of_items.n_clusters > 2 and abs(of_items.lean.sizes_t) > t_quantile(of_items.n_clusters - 1, terms.ci_level):
            shares[name] = clustered_proportion(values, alike=other, **votes.how(terms.ci_level))
    return shares


def equal(codes: Floats, truth: Floats) -> Floats:
    """1 where a judge says what people say, 0 where another word, NaN where either says nothing."""
    return np.where(np.isnan(codes) | np.isnan(truth), np.nan, codes == truth)


def hits(codes: Floats, truth: Floats, word: float) -> Floats:
    """1 where a judge says `word` of an item of that word, 0 where another, NaN where it does not count."""
    counts = (truth == word) & ~np.isnan(codes)
    return np.where(counts, codes == word, np.nan)


def coefficients(
    votes: Votes, raters: Sequence[Floats], ci_level: float, names: Mapping[str, str] | None = None
) -> dict[str, Estimate]:
    """Agreement of two raters beyond chance, or the coefficients of `names`, at the words' level."""
    asked = votes.question
    names, values = names or coefficients_of(asked.level), np.column_stack(raters)
    how = {"categories": list(range(len(asked.words))), "alike": votes.alike, **votes.how(ci_level)}
    if asked.level == "ordinal":
        values, how["categories"] = _numbers(votes, values), list(asked.values)
    estimates = agreement_coefficients(values, list(names.values()), **how)
    return {name: estimates[of] for name, of in names.items()}


def _agreement(votes: Votes, codes: Floats, terms: CheckTerms) -> dict[str, Estimate]:
    truth, level = votes.reference, terms.ci_level
    measures = {"agreement": share(equal(codes, truth), votes, level), **coefficients(votes, (codes, truth), level)}
    if votes.question.many_grades:
        apart = _numbers(votes, codes) - _numbers(votes, truth)
        near = np.where(np.isnan(apart), np.nan, np.abs(apart) <= 1)
        how = votes.how(level) | {"clusters": votes.ways[0] if votes.ways else None}
        mean = clustered_mean(apart, alike=votes.alike, **how)
        mean = replace(mean, ci_low=math.nan, ci_high=math.nan, reason=ONE_WAY) if votes.crossed else mean
        measures |= {"within_one": share(near, votes, level), "mean_difference": mean}
    return measures


def _numbers(votes: Votes, codes: Floats) -> Floats:
    return np.interp(codes, range(len(votes.question.words)), votes.question.values)


def _directed(votes: Votes, codes: Floats, terms: CheckTerms) -> dict[str, Estimate]:
    truth, level = votes.reference, terms.ci_level
    caught, passed = hits(codes, truth, 1), hits(codes, truth, 0)
    either = (codes == 1) | (truth == 1)
    known = ~np.isnan(codes) & ~np.isnan(truth)
    overlap = share(np.where(either & known, (codes == 1) & (truth == 1), np.nan), votes, level)
    right, words = np.where(truth == 1, caught, passed), (votes.question.passing, votes.question.failing)
    said = np.array([*words, None], dtype=object)[np.nan_to_num(truth, nan=2).astype(int)]
    return {
        "sensitivity": share(caught, votes, level),
        "specificity": share(passed, votes, level),
        "precision": share(hits(truth, codes, 1), votes, level),
        "f1": _f1(overlap),
        "balanced_accuracy": balanced_accuracy(right, said, words=words, **votes.how(level)),
    }


def _f1(overlap: ClusteredShare) -> Estimate:
    """F1 = 2 J / (1 + J), with J the share of items called failing by both among those called so by either."""
    ends = {end: getattr(overlap, end) for end in ("estimate", "ci_low", "ci_high")}
    f1 = {end: 2 * share / (1 + share) for end, share in ends.items()}
    return replace(overlap, **f1, method=overlap.method and f"2 J / (1 + J), J by {overlap.method}")


def _failing(votes: Votes, number: int, measures: dict[str, Any], terms: CheckTerms) -> dict[str, Any]:
    codes, truth = votes.ratings[:, number], votes.reference
    sensitivity = measures["sensitivity"]
    n, n_lost = int((truth == 1).sum()), int(((truth == 1) & np.isnan(codes)).sum())
    n_caught = float(np.nansum(hits(codes, truth, 1)))
    sampling: Any = "unknown" if _by_another(terms, votes, number) else terms.sampling
    how: dict[str, Any] = {"sampling": sampling, **votes.how(terms.ci_level)}
    if votes.crossed:
        how |= {"clusters": votes.ways[0], "cluster_unit": votes.unit}
    corrected = None if votes.in_full else corrected_rate(codes, truth, features=votes.families, **how)
    if corrected and votes.crossed:
        corrected = replace(corrected, rate=nothing_of(corrected.rate, ONE_WAY), refusal=corrected.refusal or ONE_WAY)
    counted = np.where(votes.labelled, codes, np.nan) if votes.in_full else codes
    return {
        "failing_share": share(counted, votes, terms.ci_level),
        "corrected": corrected,
        "more_failures": more_for_half_width(sensitivity, WANTED_HALF_WIDTH),
        "caught_bounds": (n_caught / n, (n_caught + n_lost) / n) if n_lost else None,
    }


def _alone(votes: Votes, number: int, terms: CheckTerms) -> Alone | str:
    codes, sure = votes.ratings[:, number], votes.confidence[:, number]
    if np.isnan(sure).all():
        return "no confidence of it is in the table"
    if not votes.in_full and terms.sampling != "random":
        return "labels of some items show a bound for all only if drawn at random (--sampling random)"
    if not votes.in_full and votes.apart:
        return votes.apart
    if votes.crossed:
        return ONE_WAY
    wrong = np.where(np.isnan(codes) | ~votes.labelled, np.nan, codes != votes.reference)
    sure = np.where(np.isnan(codes), np.nan, sure)
    how: dict[str, Any] = {"confidence_level": terms.ci_level, "cluster_unit": votes.unit}
    return decides_alone(sure, wrong, votes.clusters, risk=terms.risk, **how)


def _by_another(terms: CheckTerms, votes: Votes, number: int) -> bool:
    """Whether the labelled items were drawn by the verdicts of another judge."""
    return terms.sampling == "by_judge_verdict" and terms.drawn_for != votes.judges[number]


def _allowed(each: E, name: str, votes: Votes, terms: CheckTerms, number: int) -> E:
    """The estimate, or nothing where the draw of the labels would bend it."""
    base = "agreement" if name in (*CHANCE_CORRECTED, *OF_GRADES) else name
    spoilt = base in _SPOILT.get(terms.sampling, ()) or (name == "precision" and _by_another(terms, votes, number))
    if votes.in_full or not spoilt:
        return each
    reason = f"labelled items were drawn {terms.sampling.replace('_', ' ')}, which bends it"
    return nothing_of(each, reason)


#: Why a figure is missing whose interval was made for one way of grouping.
ONE_WAY = "it is known for one --cluster alone"
#: The level at which days or builds are shown to differ, over all that are tried.
_DIFFERS = 0.01
#: More people are not set beside each other two by two.
_MOST_IN_PAIRS = 20
#: Sign flips need a table of clusters x judges; independent items beyond so many are added up in groups of items.
MOST_GROUPS = 200


@dataclass(frozen=True)
class Difference(Result):
    """First judge minus second on the same items: what they catch, what they pass, and how often people agree.

    Intervals hold for all pairs of judges together (Bonferroni). `caught` and `passed` are None without a failing word.
    """

    judges: tuple[str, str]
    agreement: Estimate
    caught: Estimate | None = None
    passed: Estimate | None = None


@dataclass(frozen=True)
class PeoplePair(Result):
    """Two people on the items that both labelled."""

    _keys = ("people",)
    _flat = ("coefficients",)

    people: tuple[str, str]
    coefficients: dict[str, Estimate]


def ranks(votes: Votes, ci_level: float) -> RankSets | None:
    """Simultaneous rank sets by balanced accuracy (by agreement with people, without a failing word).

    Only items that every judge and people rated enter. With n_w items of word w each right verdict counts 1 / (2 n_w),
    so that a cluster's total is its part of the balanced accuracy; rank sets flip the signs of whole clusters.
    """
    if len(votes.judges) < 2 or votes.crossed:
        return None
    kept = votes.labelled & ~np.isnan(votes.ratings).any(axis=1)
    truth = votes.reference[kept]
    if not truth.size:
        return None
    word = truth.astype(np.intp) if votes.question.directed else np.zeros(truth.size, np.intp)
    weight = 1 / ((1 + votes.question.directed) * np.bincount(word)[word])
    codes = cluster_codes(None if votes.clusters is None else votes.clusters[kept], truth.size) % MOST_GROUPS
    right = (votes.ratings[kept] == truth[:, None]) * weight[:, None]
    totals = np.column_stack([np.bincount(codes, weights=column) for column in right.T])
    return rank_sets(totals * len(totals), ci_level=ci_level, rng=np.random.default_rng(0))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Checked(Result):
    """What was read of a table, and what it supports, computed where it is asked for.

    `votes` are the arrays, `roles` what the columns were taken for, `known` how they were recognised, `options` the
    choices that make the command read it so again.
    """

    _keys = columns(
        "source words columns n_items=votes.n_items n_labelled=votes.n_labelled n_clusters=votes.n_clusters",
        "n_copies=votes.n_copies n_tied=votes.n_tied cluster_unit=votes.by sampling=terms.sampling",
        "risk=terms.risk ci_level=terms.ci_level judges differences people ranks=ranks_by_name",
        "level=votes.question.level recognised counts disagreements notes",
    )

    source: str
    votes: Votes
    roles: Roles
    terms: CheckTerms
    known: Recognised
    notes: tuple[str, ...] = ()
    kind: Kind = "pandas"
    options: tuple[str, ...] = ()

    @cached_property
    def judges(self) -> tuple[JudgeCheck, ...]:
        """Each judge against people."""
        return tuple(judge_check(self.votes, number, self.terms) for number in range(len(self.votes.judges)))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Every pair of judges on the same items; none where the draw of the labels bends them."""
        votes, truth = self.votes, self.votes.reference
        if not comparable(votes, self.terms):
            return ()
        how = {**votes.how(pairwise_level(len(votes.judges), self.terms.ci_level)), "alike": votes.alike}
        every = []
        for first, second in itertools.combinations(range(len(votes.judges)), 2):
            pair = votes.ratings[:, [first, second]].T
            sides = {
                name: paired_share_difference(*(hits(codes, truth, word) for codes in pair), **how)
                for name, word in (("caught", 1), ("passed", 0))
                if votes.question.directed
            }
            agreement = paired_share_difference(*(equal(codes, truth) for codes in pair), **how)
            every.append(Difference((votes.judges[first], votes.judges[second]), agreement, **sides))
        return tuple(every)

    @cached_property
    def ranks(self) -> RankSets | None:
        """Simultaneous rank sets of the judges by balanced accuracy."""
        return ranks(self.votes, self.terms.ci_level) if comparable(self.votes, self.terms) else None

    @cached_property
    def off_together(self) -> dict[str, float]:
        """Occasions that differ by more than chance in what people say, or in how many judges agree; the p-value."""
        votes, truth = self.votes, self.votes.reference
        if not votes.judges:
            return {}
        clusters = votes.ways[-1] if votes.ways else np.zeros(votes.n_items)
        heard = ~np.isnan(votes.ratings) & votes.labelled[:, None]
        right = (heard & (votes.ratings == truth[:, None])).sum(axis=1)
        signals = (
            np.where(heard.any(axis=1), right / np.maximum(heard.sum(axis=1), 1), np.nan),
            np.where(votes.labelled, truth == 0, np.nan),
        )
        p_values = {
            name: len(signals) * len(votes.occasions) * min(shared_by_chance(each, codes, clusters) for each in signals)
            for name, codes in votes.occasions.items()
        }
        return {name: p for name, p in p_values.items() if p <= _DIFFERS}

    @cached_property
    def people(self) -> tuple[PeoplePair, ...]:
        """Every pair of people, unless they are many."""
        if len(self.votes.people) > _MOST_IN_PAIRS:
            return ()
        columns = zip(self.votes.people, self.votes.labels.T, strict=True)
        return tuple(
            PeoplePair((one, other), coefficients(self.votes, (first, second), self.terms.ci_level))
            for (one, first), (other, second) in itertools.combinations(columns, 2)
        )

    @cached_property
    def together(self) -> dict[str, Estimate]:
        """How far all people agree, where no judge is compared: the share of alike pairs, and coefficients."""
        votes = self.votes
        if votes.judges:
            return {}
        names = coefficient_names(len(votes.people), votes.question.level)
        return coefficients(votes, list(votes.labels.T), self.terms.ci_level, names)

    @property
    def compared(self) -> dict[str, dict[str, Estimate]]:
        """Judge -> its measures; of people alone what they agree in."""
        return {each.name: each.measures for each in self.judges} or {"people": self.together}

    @property
    def n_compared(self) -> int:
        """How many items two words can be compared on: a judge's with people's, of people alone two of theirs."""
        if self.judges:
            return max(each.n_compared for each in self.judges)
        return int(((~np.isnan(self.votes.labels)).sum(axis=1) > 1).sum())

    @property
    def words(self) -> dict[str, Any]:
        """The words of the question, and which of them is failing (None where nothing says so)."""
        asked = self.votes.question
        return {"passing": asked.passing or None, "failing": asked.failing or None, "all": asked.words}

    @property
    def columns(self) -> dict[str, Any]:
        """What each column was taken for; None where there is none."""
        one = {name: getattr(self.roles, name) or None for name in ("cluster", "crossed", "item")}
        return one | {name: getattr(self.roles, name) for name in ("judges", "people", "confidence", "left_out")}

    @property
    def ranks_by_name(self) -> dict[str, Any] | None:
        """The rank sets with the judges in their order; None for a single judge."""
        return None if self.ranks is None else {"judges": self.roles.judges, **self.ranks.to_dict()}

    @property
    def recognised(self) -> list[dict[str, str]]:
        """What each column was taken for, with the evidence."""
        roles = self.roles
        taken = {
            **dict.fromkeys(roles.confidence.values(), "confidence"),
            **dict.fromkeys(roles.reasons.values(), "reason"),
            **dict.fromkeys(roles.item.split(" + "), "item"),
            **dict.fromkeys((roles.cluster, roles.crossed), "cluster"),
            roles.rater: "raters",
            roles.value: "verdicts",
            **dict.fromkeys(() if roles.long else roles.people, "people"),
            **dict.fromkeys(() if roles.long else roles.judges, "judge"),
        }
        columns = [each for each in self.known.table if " + " not in each["column"]]
        rows = [{**each, "taken as": taken.get(each["column"], "not read")} for each in columns]
        return sorted(rows, key=lambda row: row["taken as"] == "not read")

    @property
    def counts(self) -> dict[str, list[dict[str, Any]]]:
        """Judge -> the table of counts: a row for each word of people, a column for each of the judge's."""
        return {judge: counted(self.votes, number) for number, judge in enumerate(self.votes.judges)}

    @property
    def disagreements(self) -> list[dict[str, Any]]:
        """Every item on which a judge says something else than people: both words, and the judge's reason."""
        return [each for number in range(len(self.votes.judges)) for each in differing(self.votes, number)]

    @property
    def failing_share(self) -> Estimate:
        """The share that people call failing, among the labelled items."""
        return share(self.votes.reference, self.votes, self.terms.ci_level)


def counted(votes: Votes, number: int) -> list[dict[str, Any]]:
    """The table of counts of the judge at `number`: a row for each word of people, and what the judge said there."""
    words, truth, verdicts = votes.question.words, votes.reference, votes.ratings[:, number]
    parts = [(name, verdicts[truth == code]) for code, name in enumerate(words)]
    parts += [("no label", verdicts[np.isnan(truth)])] * bool(np.isnan(truth).any())
    return [
        {"people": name}
        | {f"{votes.judges[number]}: {word}": int((mine == at).sum()) for at, word in enumerate(words)}
        | {"no verdict": int(np.isnan(mine).sum())}
        for name, mine in parts
    ]


COLUMNS = (
    *("judge", "measure", "of", "scale", "estimate", "low", "high", "items", "clusters", "effective_clusters"),
    *("missing", "method", "reason"),
)
_FIGURES = columns("estimate low=ci_low high=ci_high items=n_items clusters=n_clusters missing=n_missing method reason")
#: Measure -> its name as people say it, and which word it is about.
NAMES = {
    "sensitivity": ("sensitivity (recall)", "failing"),
    "specificity": ("specificity", "passing"),
    "precision": ("precision", "failing"),
    "f1": ("F1", "failing"),
    "balanced_accuracy": (QUANTITIES["balanced_accuracy"].words, ""),
    "agreement": ("agreement", ""),
    "within_one": ("at most 1 apart", ""),
    "mean_difference": ("judge less people", ""),
    **{name: (COEFFICIENTS[of].label, "") for name, of in CHANCE_CORRECTED.items()},
}
#: Judges side by side in print, up to so many; more stand below each other, with these measures.
MOST_ABREAST = 4
SHORT = ("sensitivity", "specificity", "balanced_accuracy", "agreement", "kappa", "quadratic_kappa", "ac1")


def rows(read: Checked) -> list[dict[str, Any]]:
    """One row for each judge and measure, then for each judge and word its recall where there are more than two."""
    table = [_row("people", *label(read, name), each) for name, each in read.together.items()]
    for judge in read.judges:
        table += [_row(judge.name, *label(read, name), each) for name, each in judge.measures.items()]
        if not read.votes.question.directed:
            table += [_row(judge.name, "recall", word, "nominal", each) for word, each in judge.by_word.items()]
        if judge.failing_share is not None:
            failing = read.votes.question.failing
            table.append(_row(judge.name, "share that it calls", failing, "nominal", judge.failing_share))
        if judge.corrected is not None:
            rate = judge.corrected.rate
            table.append(_row(judge.name, "share corrected by labels", read.votes.question.failing, "nominal", rate))
    return table


def label(read: Checked, name: str) -> tuple[str, str, str]:
    """A measure's name, the word that it is about, and the scale on which it takes the words."""
    if not read.judges:
        of = COEFFICIENTS[coefficient_names(len(read.votes.people), read.votes.question.level)[name]]
        return of.label, "", "nominal" if name == "percent" else read.votes.question.level
    measure, about = NAMES[name]
    asked = read.votes.question
    word = {"failing": asked.failing, "passing": asked.passing}.get(about, "")
    return measure, word, asked.level if name in (*CHANCE_CORRECTED, *OF_GRADES) else "nominal"


def _row(judge: str, measure: str, word: str, scale: str, estimate: Estimate) -> dict[str, Any]:
    n_effective = estimate.effective_clusters if isinstance(estimate, ClusteredShare) else float(estimate.n_clusters)
    named = {"judge": judge, "measure": measure, "of": word, "scale": scale, "effective_clusters": n_effective}
    row = named | rows_of([estimate], _FIGURES)[0]
    return {name: row[name] for name in COLUMNS}


MEASURES = {
    "caught": "sensitivity",
    "passed": "specificity",
    "recall": "sensitivity",
    "accuracy": "agreement",
    "failure_rate": "failure_rate",
    **{name: name for name in NAMES},
}


def decide(read: Checked, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, or ``JUDGE.MEASURE>=NUMBER`` for one; all of them hold together.

    ``failure_rate`` is the share that people fail: by their labels of all items, else corrected from those there are.

    Raises
    ------
    InputError
        As `axisjudge.stats.estimate.decided` does.
    """

    def at(ci_level: float) -> list[Measured]:
        same = ci_level == read.terms.ci_level
        of_level = read if same else replace(read, terms=replace(read.terms, ci_level=ci_level))
        return [((one.name,), one.name, partial(_measure, of_level, one)) for one in of_level.judges]

    return decided(requirements, MEASURES, at, ci_level=read.terms.ci_level)


def _measure(read: Checked, judge: JudgeCheck, asked: str) -> Estimate:
    name = MEASURES[asked]
    if name == "failure_rate" and judge.failing_share is not None:
        return read.failing_share if judge.corrected is None else judge.corrected.rate
    if name not in judge.measures:
        cure = f"this question has {', '.join(judge.measures)}; --positive WORD names a word to be caught"
        raise InputError("--require", f"{name} is no measure of this question", cure=cure)
    return judge.measures[name]
