"""The best candidate of a search on tasks that it was not made from, and everything that is told of the search."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import product
from typing import Any

import polars as pl

from axisjudge.iterating import proposing
from axisjudge.iterating.proposing import refusals
from axisjudge.iterating.search import Cut, RubricCandidate, best_of, select_gain
from axisjudge.iterating.work import (
    MOST_SENTENCES,
    MOST_TWINS,
    NEIGHBOURS,
    TASKS_A_LOOK,
    RubricSearch,
    Verdicts,
    rubric_sentences,
    runs_of,
)
from axisjudge.report.digest import portable
from axisjudge.rubric.next_version import DRAFTS, read_draft, version_that_says, with_front, write_version
from axisjudge.stats.acceptance import PARENT, ShownBetter, level_of, shown_better
from axisjudge.studies import improvement
from axisjudge.twins import EDITS, EXPECTED, make_twins
from axisjudge.verdict import VERDICTS
from axisjudge.workbench import own, write_whole

#: `shown_better` with the level and the largest task of a study.
Bets = Callable[..., ShownBetter]


def concluded(
    work: RubricSearch,
    cut: Cut,
    searches: Sequence[Sequence[RubricCandidate]],
    noise: float,
    level: float,
    tell: Any,
    notes: Sequence[str],
) -> improvement.Improvement:
    """The best candidate on the confirm tasks, what must hold beside it, and everything that is told of the search."""
    best = best_of(searches)
    confirm = runs_of(work, cut.confirm)
    number = 1 if best is None else _number(work, cut, best.text)
    largest = max(Counter(work.runs[id].cluster_id for id in confirm).values())
    own_level = level_of(level, number)
    bets = partial(shown_better, largest=largest, level=own_level)
    shown: ShownBetter | None = None
    ending: improvement.Ending = "no_candidate"
    is_reordered = False
    why: list[str] = []
    gains, flips = _frame([], _GAINS), _frame([], _FLIPS)
    points, turned = _frame([], _POINTS), _frame([], _TURNED)
    if best is not None:
        texts = _compared(work, best.text)
        shown, ids, verdicts = _confirmed(work, cut, best.text, texts, bets, tell)
        why = [*_blinder(work, ids, best.text), *_neighbours(work, ids, best.text, texts)] if shown.is_better else []
        if why:
            _refuse_draft(work, best, why)
        ending = "refused" if why else "accepted" if shown.is_better else "not_shown"
        bets = partial(bets, is_last=len(ids) == len(confirm))
        gains = _gains(work, searches[best.search - 1][0], best, ids, verdicts, texts, bets)
        flips = _flips(work, best.text, ids, verdicts)
        is_reordered = REORDERED in texts
        if ending == "accepted":
            points, turned = _sentence_points(work, ids, best.text)
    made_up = tuple(judge.rater for judge in work.judges if judge.kind == "simulated")
    return improvement.Improvement(
        axis=work.axis,
        base=work.first.version,
        target=work.target,
        ending=ending,
        version=_written(work, best, searches[best.search - 1]) if best is not None and ending == "accepted" else None,
        why=tuple(why),
        text=best.text if best else None,
        first_text=work.first.text,
        noise=noise,
        n_labels=len(work.runs),
        n_repeats=work.repeats,
        spent_usd=work.kept.budget(1e9).spent_usd,
        candidates=improvement.CandidateTree(_tree(work, searches, best, ending), made_up=made_up),
        confirmed=improvement.ConfirmedGain(gains, shown, made_up=made_up),
        front=improvement.JudgedCandidates(_front(work, searches), made_up=made_up),
        flips=improvement.ChangedVerdicts(flips, made_up=made_up),
        sentence_worth=improvement.SentenceWorth(points, turned, made_up=made_up),
        more_labels=_more_labels(work, cut, searches, shown, bets),
        labelled_by=work.labelled_by,
        ratings_path=portable(work.out, own().resolve()),
        notes=(
            *notes,
            *([_NOISE.format(noise=noise)] if noise == noise else []),
            *([_NO_PARAPHRASE] if is_reordered else []),
            *([_EARLIER.format(number=number, sure=1 - own_level)] if number > 1 else []),
        ),
    )


#: What is said of repeats of the first text.
_NOISE = "The judges gave another verdict to the same text in {noise:.0%} of repeats."
#: What is said where earlier searches have asked on the same tasks.
_EARLIER = (
    "This is candidate number {number} that is asked on these tasks: it has to be {sure:.1%} sure, so that all "
    "together are rarely wrong."
)
#: The controls of a candidate, and what is said where the last one stands for the first.
PARAPHRASE, PADDING, REORDERED = "paraphrase", "padding", "reordered"
_NO_PARAPHRASE = (
    "The proposer gave no paraphrase that can be used (it is the same text, or says more or less): the control is the "
    "parent with its worked examples in another order."
)


def _number(work: RubricSearch, cut: Cut, best: str) -> int:
    """The place of this candidate among all that any search has asked on some of these confirm tasks, from 1.

    Written down before anything is asked, by one search after another. The same text, parent, judges, repeats and
    labels are one candidate, so that a search that is taken up again keeps its number; whatever differs is another look
    at the same tasks.
    """
    from filelock import FileLock

    path = own() / "rubrics" / work.axis / DRAFTS / "confirmed.jsonl"
    gold = sorted((id, work.labels[id]) for id in runs_of(work, cut.confirm))
    raters = sorted(judge.rater for judge in work.judges)
    asked = json.dumps([best, work.first.text, raters, work.repeats, work.target, gold])
    mine = sha256(asked.encode()).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
        if known := next((row["number"] for row in rows if row["asked"] == mine), None):
            return int(known)
        number = 1 + sum(not set(row["tasks"]).isdisjoint(cut.confirm) for row in rows)
        row = {"candidate": RubricCandidate(best).key, "number": number, "asked": mine, "tasks": list(cut.confirm)}
        write_whole(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in (*rows, row)))
    return number


def _more_labels(
    work: RubricSearch,
    cut: Cut,
    searches: Sequence[Sequence[RubricCandidate]],
    shown: ShownBetter | None,
    bets: Bets,
) -> int | None:
    """About how many further labels would show a gain of `SHOWN_GAIN`; of new tasks as many confirm as of these.

    Without a candidate on the confirm tasks, its changes are taken to be spread as those of the best one on select
    tasks; where none was judged there either, as where nothing has changed on the confirm tasks.
    """
    confirm = runs_of(work, cut.confirm)
    if shown is None:
        judged = [(each, candidates[0]) for candidates in searches for each in candidates[1:] if each.select]
        pair = max(judged, key=lambda pair: select_gain(*pair), default=None)
        after, before = (each.select for each in pair) if pair else (dict.fromkeys(confirm, 0.0),) * 2
        tasks = [work.runs[id].cluster_id for id in before]
        compared = {name: list(before.values()) for name in (PARENT, PARAPHRASE, PADDING)}
        shown = bets([after[id] for id in before], compared, tasks, largest=None)
    if shown.more_items is None:
        return None
    return max(0, math.ceil((shown.gain.n_items + shown.more_items) * len(work.runs) / len(confirm)) - len(work.runs))


def _compared(work: RubricSearch, best: str) -> dict[str, str]:
    """The parent and the two controls of a candidate; `REORDERED` is the first one where no paraphrase can be used."""
    rating = work.proposal(proposing.paraphrase_sheet(work.first))
    is_read = rating["status"] == "ok"
    other = proposing.edited(work.first.text, rating["rationale"])[0] if is_read else work.first.text
    same = other.split() == work.first.text.split()
    control = {PARAPHRASE: other}
    if same or refusals(other, work.first, work.content, work.names):  # no paraphrase, or one that says more
        control = {REORDERED: proposing.turned(work.first)}
    return {PARENT: work.first.text, **control, PADDING: proposing.padded(work.first, best)}


def _confirmed(
    work: RubricSearch, cut: Cut, best: str, texts: Mapping[str, str], bets: Bets, tell: Any
) -> tuple[ShownBetter, list[str], dict[str, Verdicts]]:
    """Look after every few tasks whether bets suffice already; what is not needed any more is not asked, or paid."""
    n_tasks = len(cut.confirm)
    for n in [*range(TASKS_A_LOOK, n_tasks, TASKS_A_LOOK), n_tasks]:
        ids = runs_of(work, cut.confirm[:n])
        verdicts = work.verdicts([best, *texts.values()], ids, work.repeats)
        tasks = [work.runs[id].cluster_id for id in ids]
        of = {text: [work.mean(given, id, work.repeats) for id in ids] for text, given in verdicts.items()}
        compared = {name: of[text] for name, text in texts.items()}
        shown = bets(of[best], compared, tasks, is_last=n == n_tasks)
        tell(f"confirm, {n} of {n_tasks} tasks: {100 * shown.gain.estimate:+z.0f} points")
        if shown.is_better:
            break
    return shown, ids, verdicts


def _blinder(work: RubricSearch, ids: Sequence[str], best: str) -> list[str]:
    """Whether the candidate notices fewer of the faults that twins have on this axis, by more than repeats differ."""
    edits = [edit for edit in EDITS if EXPECTED[edit][work.first.axis] == "must"]
    judges = [judge for judge in work.judges if judge.kind != "simulated"]  # they know no twin's truth
    if not edits or not judges:
        return []
    before = work.verdicts([work.first.text], ids, work.repeats)[work.first.text]
    sound = [id for id in ids if any(before.get((id, judge.rater, 0)) == "correct" for judge in judges)]
    made = make_twins([work.runs[id] for id in sound], edits).twins[:MOST_TWINS]
    work.twins = {twin.trajectory.id: twin.trajectory for twin in made}
    if not made:
        return []
    verdicts = work.verdicts([work.first.text, best], list(work.twins), work.repeats, judges)
    caught = {
        text: [
            [given.get((id, judge.rater, repeat)) == "incorrect" for repeat in range(work.repeats)]
            for id in work.twins
            for judge in judges
        ]
        for text, given in verdicts.items()
    }
    old, new = (sum(map(sum, caught[text])) / work.repeats for text in (work.first.text, best))
    moved = sum(any(one != each[0] for one in each) for each in caught[work.first.text])
    n = len(made) * len(judges)
    return [] if old - new <= moved else [f"it notices {new:.0f} of {n} planted faults, its parent {old:.0f}"]


def _neighbours(work: RubricSearch, ids: Sequence[str], best: str, texts: Mapping[str, str]) -> list[str]:
    """Whether verdicts on the other axes move; only judges that are asked about all axes in one call can do so."""
    joint = [judge for judge in work.judges if judge.joint]
    if not joint:
        return []
    table = work.asked(work.calls([best, *texts.values()], ids, work.repeats, joint), joint)
    shas = {work.rubric(text).sha256: text for text in (best, *texts.values())}
    # ratings of other axes bear the rubric of their own axis: what tells the calls apart is the call
    own = table.filter(table["question"] == work.axis)
    text_of = {call: shas[sha] for call, sha in own.select("prompt_sha256", "rubric_sha256").iter_rows() if sha in shas}
    words: dict[str, dict[tuple[Any, ...], str | None]] = {}
    others = table.filter(table["question"] != work.axis)
    columns = ("prompt_sha256", "trajectory_id", "rater", "question", "repeat", "verdict")
    for sha, *key, verdict in others.select(*columns).iter_rows():
        if sha in text_of:
            words.setdefault(text_of[sha], {})[tuple(key)] = verdict
    first = words.get(work.first.text, {})
    control, what = (REORDERED, "its examples in another order") if REORDERED in texts else (PARAPHRASE, "a paraphrase")
    moved = {
        name: sum(words.get(text, {}).get(key) != word for key, word in first.items()) / max(1, len(first))
        for name, text in (("candidate", best), (control, texts[control]))
    }
    if moved["candidate"] <= moved[control] + NEIGHBOURS:
        return []
    return [f"it moves {moved['candidate']:.0%} of verdicts on other axes, {what} {moved[control]:.0%}"]


def _sentence_points(work: RubricSearch, ids: Sequence[str], best: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each changed sentence left out: points that go with it, and the verdicts that it turned, one by one."""
    changed = [each for each in rubric_sentences(work.first.text, best) if each.sign == "+"][:MOST_SENTENCES]
    rows, flips = [], []
    for sentence in changed:
        old = "".join(part for sign, part in sentence.words if sign != "+") if sentence.words else ""
        without = best.replace(sentence.text, old)
        if without == best or without.split() == work.first.text.split():
            without = work.first.text
        verdicts = work.verdicts([best, without], ids, work.repeats)
        pairs = [
            (work.mean(verdicts[best], id, work.repeats), work.mean(verdicts[without], id, work.repeats)) for id in ids
        ]
        both = [(one, other) for one, other in pairs if one == one and other == other]
        points = sum(one - other for one, other in both) / max(1, len(both))
        turned = _turned(work, ids, work.repeats, verdicts[without], verdicts[best])
        rows.append({"sentence": sentence.text, "points": points, "turned": len(turned), "items": len(both)})
        flips += [{"sentence": sentence.text, **flip} for flip in turned]
    return _frame(rows, _POINTS), _frame(flips, _TURNED)


def _turned(
    work: RubricSearch, ids: Sequence[str], repeats: int, before: Verdicts, after: Verdicts
) -> list[dict[str, Any]]:
    """The verdicts that differ between two texts, without those that were lost under one of them."""
    rows = []
    for key in product(ids, (judge.rater for judge in work.judges), range(repeats)):
        old, new = before.get(key), after.get(key)
        if old is None or new is None or old == new:
            continue
        label = work.labels[key[0]] or None
        row = dict(zip(("run", "judge", "repeat"), key, strict=True), task=work.runs[key[0]].cluster_id, label=label)
        rows.append({**row, "before": old, "after": new, "towards": new == label if label in (old, new) else None})
    return rows


def _written(work: RubricSearch, best: RubricCandidate, searched: Sequence[RubricCandidate]) -> str:
    """The accepted text as the next version of the rubric, a draft; the one that has this text already.

    What changed is the reason of every edit from the first text to this one.
    """
    if there := version_that_says(work.axis, best.text):
        return there
    by_key = {each.key: each for each in searched if not each.refused or each is best}
    at, reasons = best, [best.reason]
    while (parent := by_key.get(at.parent or "")) is not None:
        at, reasons = parent, [parent.reason, *reasons]
    changes = "; ".join(dict.fromkeys(filter(None, reasons))) or "an edit that was shown to be better"
    return write_version(work.axis, best.text, changes).stem


def _refuse_draft(work: RubricSearch, best: RubricCandidate, why: Sequence[str]) -> None:
    """Let the draft of a candidate say why it was refused after all, so that nobody takes it."""
    path = own() / "rubrics" / work.axis / DRAFTS / f"{best.key}.md"
    front, text = read_draft(path)
    write_whole(path, with_front({**front, "status": "refused", "refused": "; ".join(why)}, text))


_TREE = ("search", "key", "parent", "became", "reason", "train_gain", "select_gain", "tokens", "proposal_usd")
_GAINS = ("judge", "tasks", "against", "gain", "low", "high", "e_value", "items")
_FRONT = ("search", "key", "judge", "family", "agreement", "decided", "tokens", "gain", "on_front")
_FLIPS = ("run", "task", "judge", "label", "before", "after", "towards", "reason_before", "reason_after")
_POINTS = ("sentence", "points", "turned", "items")
_TURNED = ("sentence", "run", "task", "judge", "repeat", "label", "before", "after", "towards")


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        [{name: row.get(name) for name in columns} for row in rows], schema=list(columns), infer_schema_length=None
    )


def _tree(
    work: RubricSearch, searches: Sequence[Sequence[RubricCandidate]], best: RubricCandidate | None, ending: str
) -> pl.DataFrame:
    rows = []
    for candidates in searches:
        first = candidates[0]
        for each in candidates:
            became = "first" if each is first else "refused" if each.refused and not each.train else "left"
            became = "lost" if each.is_lost else became
            became = "judged" if became == "left" and each.select else became
            rows.append(
                {
                    "search": each.search,
                    "key": each.key,
                    "parent": each.parent,
                    "became": ("accepted" if ending == "accepted" else "confirmed") if each is best else became,
                    "reason": each.refused or each.reason,
                    "train_gain": None if each is first else _train_gain(each, first),
                    "select_gain": select_gain(each, first) if each.select else None,
                    "tokens": work.rubric(each.text).tokens,
                    "proposal_usd": each.cost_usd,
                }
            )
    return _frame(rows, _TREE)


def _gains(
    work: RubricSearch,
    first: RubricCandidate,
    best: RubricCandidate,
    ids: Sequence[str],
    verdicts: Mapping[str, Verdicts],
    texts: Mapping[str, str],
    bets: Bets,
) -> pl.DataFrame:
    """The gain on the train cases, on confirm tasks against everything compared, and judge by judge."""
    tasks = [work.runs[id].cluster_id for id in ids]

    def row(name: str, text: str, judge: str | None = None) -> dict[str, Any]:
        after, before = (
            [work.mean(verdicts[each], id, work.repeats, judge) for id in ids] for each in (best.text, text)
        )
        each = bets(after, {PARENT: before}, tasks)
        ends = {"gain": each.gain.estimate, "low": each.gain.ci_low, "high": each.gain.ci_high}
        evidence = {"e_value": each.e_values[PARENT], "items": each.gain.n_items}
        return {"judge": judge, "tasks": "confirm", "against": name, **ends, **evidence}

    made = {"tasks": "train", "against": PARENT, "gain": _train_gain(best, first), "items": len(best.train)}
    rows = [made, *(row(name, text) for name, text in texts.items())]
    if len(work.judges) > 1 and work.target != "agreement":
        rows += [row(PARENT, work.first.text, judge.rater) for judge in work.judges]
    return _frame(rows, _GAINS)


def _train_gain(candidate: RubricCandidate, first: RubricCandidate) -> float | None:
    """On the train cases that a candidate was tried on; None where it never was."""
    gains = [score - first.train[id] for id, score in candidate.train.items()]
    return sum(gains) / len(gains) if gains else None


def _front(work: RubricSearch, searches: Sequence[Sequence[RubricCandidate]]) -> pl.DataFrame:
    """Candidates judge by judge on the select tasks; on the front where no other is at least as good in everything."""
    rows = []
    for candidates in searches:
        judged = [each for each in candidates if each.select]
        ids = list(candidates[0].select)
        verdicts = work.verdicts([each.text for each in judged], ids, 1)
        for judge in work.judges:
            mine: list[dict[str, Any]] = []
            for each in judged:
                given = verdicts[each.text]
                words = [given.get((id, judge.rater, 0)) for id in ids]
                name = None if work.target == "agreement" else judge.rater
                scores = [score for id in ids for score in work.scores(given, id, 1, name)]
                mine.append(
                    {
                        "search": candidates[0].search,
                        "key": each.key,
                        "judge": judge.rater,
                        "family": judge.family,
                        "agreement": sum(scores) / max(1, len(scores)),
                        "decided": sum(word in VERDICTS[:2] for word in words) / max(1, len(words)),
                        "tokens": work.rubric(each.text).tokens,
                    }
                )
            for row in mine:
                row["gain"] = row["agreement"] - mine[0]["agreement"]
                row["on_front"] = not any(_beats(other, row) for other in mine)
            rows += mine
    return _frame(rows, _FRONT)


def _beats(other: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether one is at least as good in agreement, decided share and length, and better in one of them."""
    of = [(each["agreement"], each["decided"], -each["tokens"]) for each in (other, row)]
    return of[0] != of[1] and all(one >= two for one, two in zip(*of, strict=True))


def _flips(work: RubricSearch, best: str, ids: Sequence[str], verdicts: Mapping[str, Verdicts]) -> pl.DataFrame:
    """Verdicts of the first repeat that differ between the first text and the candidate's."""
    texts = (work.first.text, best)
    given = work.kept.table().filter(pl.col("question") == work.axis, pl.col("repeat") == 0)
    columns = given.select("rubric_sha256", "trajectory_id", "rater", "rationale")
    reasons = {(*key,): why for *key, why in columns.iter_rows()}
    rows = _turned(work, ids, 1, *(verdicts[text] for text in texts))
    for flip in rows:
        for text, when in zip(texts, ("before", "after"), strict=True):
            flip[f"reason_{when}"] = reasons.get((work.rubric(text).sha256, flip["run"], flip["judge"]))
    return _frame(rows, _FLIPS)
