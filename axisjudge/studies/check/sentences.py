"""The check in plain lines: what was read, what each judge does, what the file supports, and the next command."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from axisjudge.ratings.scales import one_line
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, Coefficient, coefficient_names, coefficient_of_two
from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.estimate import QUANTITIES, Decision, Estimate, no_interval
from axisjudge.studies._shared.words import directed, if_twice, in_points, listed, many
from axisjudge.studies.check import compute
from axisjudge.studies.check.columns import repeating_id

if TYPE_CHECKING:
    from axisjudge.stats.correction import CorrectedRate
    from axisjudge.studies.check.compute import Checked

#: With more judges than this each has one line; the rest stands in the table and in --json.
MOST_IN_DETAIL = 4
BALANCED = QUANTITIES["balanced_accuracy"].words
#: Fewer items more than this are not worth a line.
FEWEST_MORE = 10
#: A judge whose share of hits is below this even at the upper bound misses most.
MOST = 0.5


def report(read: Checked) -> dict[str, list[str]]:
    """Lines by part, in the order of print."""
    return {
        "read": _read(read),
        "judges": [line for judge in read.judges for line in _judge(read, judge)] or [_people_alone(read)],
        "beside each other": beside(read),
        "supported": _supports(read),
        "next": [*filter(None, [_next(read)])],
    }


def answer(read: Checked) -> str:
    """The first finding: what each judge passes and catches; of many judges the span of the bounds."""
    if not read.judges:
        return _people_alone(read)
    if len(read.judges) == 1:
        return _first_line(read, read.judges[0])
    return f"{_several(read)} {_ranking(read)}".strip()


def beyond_chance(read: Checked) -> str:
    """Whether each judge is above chance; of many judges the span of the bounds."""
    if not read.judges:
        return _people_alone(read)
    if len(read.judges) > MOST_IN_DETAIL:
        return _several(read)
    return " ".join(f"{judge.name}: {_chance_line(read, judge)[0].strip()}" for judge in read.judges)


def beside(read: Checked) -> list[str]:
    """Judges beside each other, then people beside people."""
    return [*_beside(read), *_people(read)]


def differing(read: Checked) -> str:
    """On how many items each of the first judges says something else than people, and in which words most."""
    lines = []
    for judge in read.judges[:MOST_IN_DETAIL]:
        words = Counter(
            (row["judge_said"], row["people_said"]) for row in read.disagreements if row["judge"] == judge.name
        )
        (most, n), *_ = words.most_common(1) or [(("", ""), 0)]
        often = f", most often {most[0]!r} where they say {most[1]!r} ({n:,})" if n else ""
        lines.append(
            f"{judge.name} says otherwise than people of {words.total():,} of {judge.n_compared:,} items{often}."
        )
    return " ".join(lines)


def _several(read: Checked) -> str:
    if len(read.judges) <= MOST_IN_DETAIL:
        names = ("sensitivity", "specificity") if read.votes.question.directed else ("agreement",)
        verbs = {"sensitivity": "caught", "specificity": "passed", "agreement": "agreed with people on"}
        each = [
            f"{judge.name} {listed([f'{verbs[name]} {_share(judge.measures[name])}' for name in names])}"
            for judge in read.judges
        ]
        return f"{'; '.join(each)}."
    standards = [(judge, *_standard(read, judge)) for judge in read.judges]
    known = [(estimate.ci_low, chance) for _, estimate, chance in standards if not math.isnan(estimate.ci_low)]
    if not known:
        return f"None of {len(read.judges)} judges has an interval."
    lows = sorted(low for low, _ in known)
    name = BALANCED if known[0][1] else _coefficient(read).label
    above = sum(low > chance for low, chance in known)
    return (
        f"The lower bounds of {name} run from {lows[0]:z.2f} to {lows[-1]:z.2f} over {len(known)} judges; "
        f"{above} are above chance ({known[0][1]:g})."
    )


def _read(read: Checked) -> list[str]:
    votes, roles = read.votes, read.roles
    labelled = "all labelled" if votes.in_full else f"{votes.n_items - votes.n_unseen:,} labelled"
    lines = [f"{read.source}: {many(votes.n_items, votes.noun)}, {labelled}."]
    where = f" (raters in {roles.rater!r}, their words in {roles.value!r})" if roles.long else ""
    people = f"{listed(roles.people[:8])}{f' and {len(roles.people) - 8} more' if len(roles.people) > 8 else ''}"
    judges = f"Judges: {listed(roles.judges)}." if roles.judges else "No judge is compared."
    lines.append(f"{judges} People: {people}{where}.")
    if roles.cluster:
        n_effective = effective_clusters(votes.cluster_sizes)
        equal = "" if n_effective > 0.9 * votes.n_clusters else f", worth {n_effective:.1f} equal ones"
        groups = f"{votes.n_clusters} in all{equal}"
        alike = f"each {votes.noun if votes.alike == 'items' else votes.unit} counts alike (--alike)"
        other = f", and rows of one {roles.crossed!r}, {len(set(votes.ways[-1]))} in all" if roles.crossed else ""
        lines.append(
            f"Rows of one {roles.cluster!r} belong together, {groups}{other}; intervals are by {votes.by}, {alike}."
        )
    elif may := list(dict.fromkeys(filter(None, (repeating_id(roles), *roles.may_cluster)))):
        one = may[0]
        n_values = read.known.columns[one].distinct
        lines.append(
            f"Each row counts as independent, though {one!r} has {n_values:,} values in {votes.n_items:,} rows: if its "
            f"rows belong together, say --cluster {shlex.quote(one)}."
        )
    else:
        lines.append("No column says which rows belong together: each row counts as independent (--cluster COLUMN).")
    lines += [
        f"Rows of one {name!r} go together as well: its {votes.occasions[name].max()} values differ by more than "
        f"chance (p {p:.3f}), which intervals by {votes.by} leave out{_both_ways(read, name)}."
        for name, p in read.off_together.items()
    ]
    lines.append(_words_line(read))
    lines += _of_one_side(read)
    lines += [f"{copy!r} says what {of!r} says in every row, and is left out." for copy, of in roles.copies.items()]
    lines += [f"{note[0].upper()}{note[1:]}." for note in read.notes]
    if roles.confidence:
        columns = set(roles.confidence.values())
        pairs = [f"{judge} = {column}" for judge, column in roles.confidence.items()]
        lines.append(f"Confidence: {listed(pairs) if len(columns) > 1 else columns.pop()}.")
    if roles.left_out:
        lines.append(f"Not read: {listed(roles.left_out[:8])}{' and more' if len(roles.left_out) > 8 else ''}.")
    if votes.n_copies:
        lines.append(f"Rows that repeat another: {votes.n_copies}, counted once.")
    if len(votes.people) > 1 and votes.judges:
        alone = f" (none of them against one person: --human {shlex.quote(votes.people[0])})"
        tied = f"; {votes.n_tied} with a tie are left out{alone}" if votes.n_tied else ""
        lines.append(f"What people said is the majority of {len(votes.people)}{tied}.")
    if not votes.in_full and read.terms.sampling == "unknown" and votes.judges:
        lines.append(
            f"Figures are of the {votes.n_labelled:,} labelled {votes.noun}s alone: how they were drawn is not known."
        )
    return lines


def _words_line(read: Checked) -> str:
    asked = read.votes.question
    if not read.judges:
        return f"Words: {one_line(asked.words)}{', in this order' * (asked.level == 'ordinal')}."
    if not asked.directed:
        order = "in this order, so that near misses count less (--scale nominal takes them as names)"
        names = "as names without an order" + " (else: --scale ordinal:LOWEST,...,HIGHEST)" * (len(asked.words) > 2)
        level = order if asked.level == "ordinal" else names
        none = "None is taken as failing (--positive WORD names one to be caught)"
        return f"Words: {one_line(asked.words)}, {level}. {none}."
    turn = ""
    if asked.named:
        turn = f", by the name of {asked.named!r}; if {asked.passing!r} is the one, say --positive={asked.passing}"
    if asked.assumed:
        turn = f"; if {asked.passing!r} is the one to be caught, say --positive={shlex.quote(asked.passing)}"
    others = sorted(word for word, code in asked.code.items() if not code and word in asked.code)
    several = f" ({', '.join(others)})" if others and asked.passing not in asked.code else ""
    return f"Failing is {asked.failing!r}, passing is {asked.passing!r}{several}{turn}."


def _of_one_side(read: Checked) -> list[str]:
    """Words that only judges or only people say; and words of a judge that are counted as another word of people's."""
    votes = read.votes
    words = {
        side: set[str]().union(*(votes.spoken[name] for name in names))
        for side, names in (("judges", votes.judges), ("people", votes.people))
    }
    lines = []
    code = votes.question.code
    for one, rest in (("judges", "people"), ("people", "judges")):
        alone = sorted(words[one] - words[rest])
        if not words[one] or not words[rest] or not alone:
            continue
        means = [
            f"{each!r} as {votes.question.words[code[each]]!r}" for each in alone if each not in votes.question.words
        ]
        counted = f", counted {listed(means[:4])}" if means else ""
        lines.append(f"Only {one} say {listed([repr(each) for each in alone[:4]])}{counted}.")
    return lines


def _judge(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    lines = [_first_line(read, judge)]
    if len(read.judges) > MOST_IN_DETAIL:
        return lines
    lines += [*_chance_line(read, judge), *_by_size(read, judge)]
    if read.votes.question.directed:
        lines += [*_too_few(read, judge), *_rates(read, judge), *_alone(read, judge)]
    return lines


def _by_size(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    """What goes with the sizes of tasks, and what it is with the other weights."""
    votes = read.votes
    other = votes.unit if votes.alike == "items" else votes.noun
    of = {"sensitivity": "what it catches", "specificity": "what it passes", "agreement": "how often it agrees"}
    return [
        f"  On large {votes.unit}s {of[name]} differs: with each {other} alike {_share(each)}, "
        f"not {_share(judge.measures[name])}."
        for name, each in judge.other_way.items()
    ]


def _first_line(read: Checked, judge: compute.JudgeCheck) -> str:
    votes, asked = read.votes, read.votes.question
    if not asked.directed:
        words = [f"{word!r} {_share(each)} of {each.n_items}" for word, each in judge.by_word.items() if each.n_items]
        common = max((each.n_items for each in judge.by_word.values()), default=0)
        commonest = next((word for word, each in judge.by_word.items() if each.n_items == common), "")
        if not judge.n_compared:
            return f"{judge.name}: no {votes.noun} has its word and people's."
        each = f"by people's word {', '.join(words)}"
        if asked.many_grades:
            more = judge.measures["mean_difference"]
            ends = no_interval() if math.isnan(more.ci_low) else f"{more.ci_low:+z.2f} to {more.ci_high:+z.2f}"
            each = f"at most 1 apart on {_share(judge.measures['within_one'])}"
            each += f"; its grades less theirs are {more.estimate:+z.2f} ({ends}) on average"
        return (
            f"{judge.name} said what people said of {_share(judge.measures['agreement'])} of {judge.n_compared:,} "
            f"{votes.noun}s (always {commonest!r}: {common / judge.n_compared:.0%}); {each}{_by(read)}."
        )
    passed, caught = judge.measures["specificity"], judge.measures["sensitivity"]
    if not compute.comparable(votes, read.terms):
        return f"{judge.name}: what it passes and catches is not given: {caught.reason}."
    missing = f" It gave no verdict on {many(judge.n_missing, f'labelled {votes.noun}')}" if judge.n_missing else ""
    if missing and judge.caught_bounds:
        low, high = judge.caught_bounds
        if f"{low:.0%}" != f"{high:.0%}":
            missing += f"; counting those people failed among them it caught between {low:.0%} and {high:.0%}"
    first = f"of the {passed.n_items:,} {votes.noun}s that people called {asked.passing!r} it passed {_share(passed)}"
    second = f"of the {caught.n_items:,} they called {asked.failing!r} it caught {_share(caught)}"
    if not judge.n_compared:
        return f"{judge.name}: it gave no verdict on any of the {votes.n_labelled:,} labelled {votes.noun}s."
    of_word = [int((votes.reference == code).sum()) for code in (0, 1)]
    lost = "it gave no verdict on the {:,} that people called {!r}"
    if not passed.n_items:
        none = f"people called no {votes.noun} {asked.passing!r}"
        first = lost.format(of_word[0], asked.passing) if of_word[0] else none
    if not caught.n_items:
        none = f"people called none {asked.failing!r}, so nothing could be caught"
        second = lost.format(of_word[1], asked.failing) if of_word[1] else none
    return f"{judge.name}: {first}; {second}{_by(read)}.{missing}{'.' if missing else ''}"


def _by(read: Checked) -> str:
    return f"; by {read.votes.by}" if read.roles.cluster else ""


def _both_ways(read: Checked, name: str) -> str:
    """The options by which intervals allow for a further column; nothing where two are taken already."""
    columns = [*filter(None, [read.roles.cluster]), name]
    return "" if read.roles.crossed else f" ({' '.join(f'--cluster {shlex.quote(each)}' for each in columns)})"


def _coefficient(read: Checked) -> Coefficient:
    """The coefficient of two raters at the level of the words."""
    return COEFFICIENTS[coefficient_of_two(read.votes.question.level)]


def _standard(read: Checked, judge: compute.JudgeCheck) -> tuple[Estimate, float]:
    if "balanced_accuracy" in judge.measures:
        return judge.measures["balanced_accuracy"], 0.5
    return judge.measures[_coefficient(read).heading], 0.0


def _chance_line(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    """Whether a judge tells the words apart, by the bound that decides."""
    standard, chance = _standard(read, judge)
    if math.isnan(standard.ci_low):
        return [f"  Whether it is above chance cannot be said: {_lacking(read, judge) or standard.reason}."]
    name, coin = (BALANCED, f"{chance:.0%}") if chance else (_coefficient(read).label, "0")
    low, high = (f"{end:z.0%}" if chance else f"{end:z.2f}" for end in (standard.ci_low, standard.ci_high))
    low = f"{math.floor(standard.ci_low * 1000) / 1000:.1%}" if chance and low == coin else low
    if standard.ci_high < chance:
        return [
            f"  It is worse than chance: {name} is at most {high}, where chance has {coin}. See what its words mean."
        ]
    misses = _misses(read, judge)
    if misses and standard.ci_low > chance:
        return [f"  {misses} Still it is above chance: {name} is at least {low}, where chance has {coin}."]
    if standard.ci_low > chance:
        return [f"  Above chance: {name} is at least {low}, where chance has {coin}."]
    more = f" {misses}" if misses else ""
    return [f"  Not shown to be above chance: {name} may be as low as {low}, and chance has {coin}.{more}"]


def _lacking(read: Checked, judge: compute.JudgeCheck) -> str:
    """The word that people never said, so that nothing is known of it."""
    asked = read.votes.question
    words = {"sensitivity": asked.failing, "specificity": asked.passing}
    never = (
        [
            word
            for name, word in words.items()
            if name in judge.measures and not (read.votes.reference == read.votes.question.code[word]).any()
        ]
        if asked.directed and asked.failing in asked.code and asked.passing in asked.code
        else []
    )
    return f"people called no {read.votes.noun} {listed([repr(word) for word in never])}" if never else ""


def _misses(read: Checked, judge: compute.JudgeCheck) -> str:
    """The plain sentence for a judge that misses most of what it should catch, or fails most of what it should pass."""
    asked = read.votes.question
    verbs = {"sensitivity": ("misses", asked.failing), "specificity": ("fails", asked.passing)}
    return " ".join(
        f"It {verb} at least {1 - judge.measures[name].ci_high:.0%} of {word!r}."
        for name, (verb, word) in verbs.items()
        if name in judge.measures and judge.measures[name].ci_high < MOST
    )


def _too_few(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    caught = judge.measures["sensitivity"]
    points = f"±{compute.WANTED_HALF_WIDTH * 100:.0f} points"
    if not compute.comparable(read.votes, read.terms):
        return []
    if not judge.more_failures or judge.more_failures < FEWEST_MORE:
        if not math.isnan(caught.ci_low):
            return []
        why = f", {caught.reason}" if caught.n_items else ""
        return [f"  Too few that people failed: {caught.n_items}{why}."]
    more = _rounded(judge.more_failures)
    return [f"  Too few that people failed for {points}: {caught.n_items}; about {more:,} more would do."]


def _rates(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    share, word = judge.failing_share, read.votes.question.failing
    if share is None or math.isnan(share.estimate):
        return []
    calls = f"  It calls {_share(share)} {word!r}"
    if judge.corrected is None:
        return [f"{calls}; people call {_share(read.failing_share)} so."]
    rate = judge.corrected.rate
    refusal = judge.corrected.refusal or (rate.reason if math.isnan(rate.estimate) else "")
    if read.terms.drawn_for not in ("", judge.name):
        refusal = f"labelled items were drawn by the verdicts of {read.terms.drawn_for}"
    if refusal:
        return [f"{calls}; no corrected rate: {refusal}."]
    how = "at random" if read.terms.sampling == "random" else read.terms.sampling.replace("_", " ")
    weak = "".join(f" {warning[0].upper()}{warning[1:]}." for warning in judge.corrected.warnings[:1])
    weak += if_twice(judge.corrected)
    how += f", each {read.votes.noun} alike" if read.votes.alike == "clusters" else ""
    return [f"{calls}; corrected by labels drawn {how}, {_share(rate)}{_unlabelled(read, rate)}.{weak}"]


def _unlabelled(read: Checked, rate: Estimate) -> str:
    """How many of the rows that nobody labelled that makes, where labels were drawn at random."""
    votes = read.votes
    if read.terms.sampling != "random" or math.isnan(rate.ci_low):
        return ""
    known = int((votes.reference == 1).sum())
    rest = votes.n_items - votes.n_labelled
    at, low, high = (
        min(max(round(end * votes.n_items) - known, 0), rest) for end in (rate.estimate, rate.ci_low, rate.ci_high)
    )
    return f": about {at:,} ({low:,} to {high:,}) of the {rest:,} that nobody labelled"


def _alone(read: Checked, judge: compute.JudgeCheck) -> list[str]:
    risk, level = read.terms.risk, read.terms.ci_level
    wish = f"  May it decide some alone, at {risk:.0%} error"
    if judge.alone is None or judge.alone.error is None:
        return [f"{wish}? Not shown: {judge.why_not_alone}."]
    alone, error = judge.alone, judge.alone.error
    return [
        f"{wish}? Yes, {alone.share:.0%} of them: at confidence {alone.threshold:g} and above it errs in "
        f"{error.estimate:.0%}, at most {error.ci_high:.0%} with {level:.0%} confidence."
    ]


def _beside(read: Checked) -> list[str]:
    if len(read.judges) < 2:
        return []
    if not compute.comparable(read.votes, read.terms):
        return [f"Judges are not compared: labelled items were drawn {read.terms.sampling.replace('_', ' ')}."]
    lines = [_ranking(read)]
    if len(read.judges) <= 3:
        for each in read.differences:
            one, other = each.judges
            parts = [
                f"{verb} {directed(in_points(gap))}"
                for verb, gap in (("catches", each.caught), ("passes", each.passed))
                if gap is not None and not math.isnan(gap.estimate)
            ] or [f"agrees with people {directed(in_points(each.agreement))}"]
            lines.append(f"{one} against {other}, on the same {read.votes.noun}s: it {listed(parts)}.")
    return [line for line in lines if line]


def _ranking(read: Checked) -> str:
    sets = read.ranks
    if sets is None:
        several = read.votes.crossed and len(read.judges) > 1
        return "Judges are ranked by one --cluster alone." if several else ""
    by = BALANCED if read.votes.question.directed else "agreement with people"
    if sets.refusal:
        return f"Judges are not ranked: {sets.refusal.replace('cluster', read.votes.unit)}."
    first = [read.judges[index].name for index in sets.first]
    if len(first) == 1:
        return f"By {by}, {first[0]} is shown to be above every other ({sets.ci_level:.0%})."
    if sets.tied and sets.differ:
        return f"By {by} the judges differ, and which is best is not shown ({sets.ci_level:.0%})."
    if sets.tied:
        return f"By {by} no judge is shown to be above another (simultaneous rank sets)."
    who = listed(first) if len(first) <= 8 else f"{len(first)} of {len(read.judges)} judges"
    return f"By {by} the first place may belong to {who}; they are not told apart (simultaneous rank sets)."


def _people(read: Checked) -> list[str]:
    coefficient = _coefficient(read)
    pairs = [(pair, pair.coefficients[coefficient.heading]) for pair in read.people]
    lines = [f"{' and '.join(pair.people)} {kappa.worded()}" for pair, kappa in pairs if not math.isnan(kappa.estimate)]
    if not lines:
        return []
    return [
        f"People beside each other, {coefficient.label}: {'; '.join(lines[:6])}{'; ...' if len(lines) > 6 else ''}."
    ]


def _people_alone(read: Checked) -> str:
    """How far people agree with each other, of a table without a judge."""
    votes, level = read.votes, read.votes.question.level
    if not read.n_compared:
        return f"No {votes.noun} has the words of two people, so that nothing can be compared."
    names = coefficient_names(len(votes.people), level)
    shared, *beyond = read.together.items()
    beyond_chance = [f"{COEFFICIENTS[names[name]].label} {kappa.worded()}" for name, kappa in beyond]
    whose = "two people" if len(votes.people) == 2 else "each two people"
    return (
        f"People agree in {_share(shared[1])} of what {whose} said of the same {votes.noun} ({read.n_compared:,} "
        f"{votes.noun}s with two words or more){_by(read)}; {'; '.join(beyond_chance)}."
    )


def _supports(read: Checked) -> list[str]:
    if not read.judges:
        return ["Whose word is nearer to the truth it does not say: add a judge's column, or name one by --judge."]
    every, to = read.judges, f" to ±{compute.WANTED_HALF_WIDTH * 100:.0f} points"
    claims: list[tuple[str, bool]] = []
    if read.votes.question.directed:
        sure = [judge.name for judge in every if _narrow(judge.measures["sensitivity"])]
        who = f" ({listed(sure)})" if 0 < len(sure) < min(6, len(every)) else ""
        rate = every[0].corrected
        claims += [
            (f"what is caught{to}{who}", bool(sure)),
            (f"what is passed{to}", any(_narrow(judge.measures["specificity"]) for judge in every)),
            (f"a failure rate{to}", _rate_is_narrow(read, rate)),
            ("deciding some alone", any(judge.alone and judge.alone.error for judge in every)),
        ]
    beyond = (judge.measures[_coefficient(read).heading] for judge in every)
    claims += [("agreement beyond chance", any(kappa.ci_low > 0 or kappa.ci_high < 0 for kappa in beyond))]
    claims += [("people's agreement with each other", len(read.votes.people) > 1)]
    if len(every) > 1:
        claims.append(("one best judge", bool(read.ranks and len(read.ranks.first) == 1)))
    can, cannot = ([claim for claim, holds in claims if holds is wanted] for wanted in (True, False))
    lines = [f"The file supports: {', '.join(can)}."] if can else []
    return lines + ([f"It does not support: {', '.join(cannot)}."] if cannot else [])


def _rate_is_narrow(read: Checked, rate: CorrectedRate | None) -> bool:
    """Whether the share that people fail is known well: by all of their labels, or corrected from some."""
    if rate is None:
        return _narrow(read.failing_share)
    return not rate.refusal and _narrow(rate.rate)


def _narrow(estimate: Estimate) -> bool:
    return estimate.ci_high - estimate.ci_low <= 2 * compute.WANTED_HALF_WIDTH  # NaN is not


def _next(read: Checked) -> str:
    if not read.judges:
        return ""
    roles, votes = read.roles, read.votes
    words = ["axisjudge", "check", read.source if read.source != "table" else "FILE"]
    off = "" if roles.crossed else next(iter(read.off_together), "")
    words += [part for each in read.options for part in each.split("=", 1)]
    may_cluster = next(iter(filter(None, (repeating_id(roles), *roles.may_cluster))), "")
    if votes.question.directed and any(_lacking(read, judge) for judge in read.judges):
        why, more = "with labels of the other word too", []
    elif not votes.in_full and read.terms.sampling == "unknown":
        why, more = "if the labelled rows were drawn at random", ["--sampling", "random"]
    elif off:
        why, more = f"for what holds on another {off.replace('_', ' ')} too", ["--cluster", off]
    elif may_cluster and not roles.cluster and "--cluster=none" not in read.options:
        why, more = f"if rows of one {may_cluster!r} belong together", ["--cluster", may_cluster]
    elif not votes.question.directed:  # which of two words fails is not in the file
        return ""
    else:
        why, more = "as a gate", ["--require", "caught>=0.8"]
    return f"Next, {why}: {shlex.join([*words, *more])}"


def _share(estimate: Estimate) -> str:
    """Share and interval, ``88% (84 to 91)``."""
    if math.isnan(estimate.estimate):
        return "an unknown share"
    if math.isnan(estimate.ci_low):
        return f"{estimate.estimate:.0%} ({no_interval(estimate.reason)})"
    return f"{estimate.estimate:.0%} ({estimate.ci_low * 100:.0f} to {estimate.ci_high * 100:.0f})"


def _rounded(count: int) -> int:
    """Two leading figures, upwards: a number of labels to plan with."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def heading(read: Checked, name: str) -> str:
    """Measure and word in one heading; a coefficient's name says its level."""
    measure, word, _ = compute.label(read, name)
    return f"{measure} of {word!r}" if word else measure


def abreast(read: Checked) -> Iterator[tuple[str, bool, dict[str, Estimate]]]:
    """Of each measure, and of each word of more than two: heading, whether below 0 is possible, figures by judge."""
    for name in next(iter(read.compared.values())):
        figures = {rater: measures[name] for rater, measures in read.compared.items()}
        yield heading(read, name), name in (*compute.CHANCE_CORRECTED, "mean_difference"), figures
    asked = read.votes.question
    for word in [] if asked.directed or asked.many_grades or not read.judges else read.judges[0].by_word:
        yield f"recall of {word!r}", False, {judge.name: judge.by_word[word] for judge in read.judges}


def spoken(estimate: Estimate) -> str:
    """Estimate and interval, ``.79 (.69 to .86)``."""
    if estimate.estimate != estimate.estimate:
        return "-"
    if estimate.ci_low != estimate.ci_low:
        return f"{_decimals(estimate.estimate)} ({no_interval()})"
    return f"{_decimals(estimate.estimate)} ({_decimals(estimate.ci_low)} to {_decimals(estimate.ci_high)})"


def _decimals(value: float) -> str:
    text = f"{abs(value):.2f}"
    text = text.removeprefix("0") if text.startswith("0.") else text
    return f"-{text}" if value < 0 and float(text) else text


def verdict_line(decisions: Sequence[Decision], ci_level: float) -> str:
    """All requirements in one word, with the bound that decided the worst of them."""
    order = {"short": 0, "cannot_tell": 1, "met": 2}
    worst = min(decisions, key=lambda each: order[each.outcome])
    word = {"short": "Short", "cannot_tell": "Undecided", "met": "Met"}[worst.outcome]
    above = ">=" in worst.requirement
    end, name = (worst.ci_low, "at least") if above else (worst.ci_high, "at most")
    if worst.outcome == "short":
        end, name = (worst.ci_high, "at most") if above else (worst.ci_low, "at least")
    known = f"{worst.judge} has {name} {end:z.3f}" if not math.isnan(end) else f"{worst.judge}: {worst.reason}"
    several = f", all {len(decisions)} together" if len(decisions) > 1 else ""
    return f"{word}: {worst.requirement} ({known}, at {ci_level:.0%} confidence{several})."


def printed(read: Checked) -> list[dict[str, Any]]:
    """The short table: measures down and judges across, or judges down where they are many."""
    if len(read.judges) <= compute.MOST_ABREAST:
        return [
            {"measure": measure, **{judge: spoken(estimate) for judge, estimate in by_judge.items()}}
            for measure, _, by_judge in abreast(read)
        ]
    shown = [name for name in compute.SHORT if name in read.judges[0].measures][:4]
    return [
        {"judge": judge.name, **{heading(read, name): spoken(judge.measures[name]) for name in shown}}
        for judge in read.judges
    ]
