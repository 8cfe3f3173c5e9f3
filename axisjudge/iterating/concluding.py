"""The best candidate of a search on tasks that it was not made from, and everything that is told of the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from axisjudge.iterating import proposing
from axisjudge.iterating.guards import refusals
from axisjudge.iterating.rubric_change import rubric_sentences
from axisjudge.iterating.search import Cut, RubricCandidate, best_of, select_gain
from axisjudge.iterating.work import (
    MOST_SENTENCES,
    MOST_TWINS,
    NEIGHBOURS,
    TASKS_A_LOOK,
    RubricSearch,
    Verdicts,
    runs_of,
)
from axisjudge.rubric import Rubric, list_rubrics
from axisjudge.rubric.next_version import with_front
from axisjudge.stats.sequences.acceptance import PARENT, ShownBetter, shown_better
from axisjudge.twins import EDITS, EXPECTED, make_twins
from axisjudge.verdict import VERDICTS
from axisjudge.workbench import own

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.studies.improvement import Improvement


def concluded(
    work: RubricSearch,
    cut: Cut,
    found: Sequence[Sequence[RubricCandidate]],
    noise: float,
    level: float,
    tell: Any,
    notes: Sequence[str],
) -> Improvement:
    """The best candidate on the confirm tasks, what must hold beside it, and everything that is told of the search."""
    from axisjudge.studies.improvement import (
        CandidateTree,
        ChangedVerdicts,
        ConfirmedGain,
        Ending,
        Improvement,
        JudgedCandidates,
        SentenceWorth,
    )

    best = best_of(found)
    shown: ShownBetter | None = None
    ids: list[str] = []
    verdicts: dict[str, Verdicts] = {}
    ending: Ending = "no_candidate"
    why: list[str] = []
    worth: list[dict[str, Any]] = []
    if best is not None:
        texts = _compared(work, best.text)
        shown, ids, verdicts = _confirmed(work, cut, best.text, texts, level, tell)
        why = [*_blinder(work, ids, best.text), *_neighbours(work, ids, best.text, texts)] if shown.is_better else []
        ending = "refused" if why else "accepted" if shown.is_better else "not_shown"
        worth = _worth(work, ids, best.text) if ending == "accepted" else []
    version = _written(work, best) if best is not None and ending == "accepted" else None
    made_up = tuple(judge.rater for judge in work.judges if judge.kind == "simulated")
    return Improvement(
        axis=work.axis,
        base=work.first.version,
        target=work.target,
        ending=ending,
        version=version,
        why=tuple(why),
        text=best.text if best else None,
        first_text=work.first.text,
        noise=noise,
        n_labels=len(work.runs),
        n_repeats=work.repeats,
        spent_usd=work.kept.budget(1e9).spent_usd,
        candidates=CandidateTree(_tree(work, found, best, ending), made_up=made_up),
        confirmed=ConfirmedGain(_gains(work, found, best, ids, verdicts, shown, level), shown, made_up=made_up),
        front=JudgedCandidates(_front(work, found), made_up=made_up),
        flips=ChangedVerdicts(_flips(work, best, ids, verdicts), made_up=made_up),
        sentence_worth=SentenceWorth(_frame(worth, _WORTH), made_up=made_up),
        notes=tuple(notes),
    )


def _compared(work: RubricSearch, best: str) -> dict[str, str]:
    """The parent and the two controls of a candidate."""
    said, _ = work.proposal(proposing.paraphrase_sheet(work.first))
    other = proposing.edited(work.first.text, said)[0] if said else work.first.text
    same = other.split() == work.first.text.split()
    if same or refusals(other, work.first, work.content, work.names):  # no paraphrase, or one that says more
        other = proposing.turned(work.first)
    return {PARENT: work.first.text, "paraphrase": other, "padding": proposing.padded(work.first, best)}


def _confirmed(
    work: RubricSearch, cut: Cut, best: str, texts: Mapping[str, str], level: float, tell: Any
) -> tuple[ShownBetter, list[str], dict[str, Verdicts]]:
    """Look after every few tasks whether the bets suffice; what is not needed any more is not asked, or paid."""
    largest = max(Counter(work.runs[id].cluster_id for id in runs_of(work, cut.confirm)).values())
    n_tasks = len(cut.confirm)
    for n in [*range(TASKS_A_LOOK, n_tasks, TASKS_A_LOOK), n_tasks]:
        ids = runs_of(work, cut.confirm[:n])
        verdicts = work.verdicts([best, *texts.values()], ids, work.repeats)
        tasks = [work.runs[id].cluster_id for id in ids]
        of = {text: [work.mean(given, id, work.repeats) for id in ids] for text, given in verdicts.items()}
        compared = {name: of[text] for name, text in texts.items()}
        shown = shown_better(of[best], compared, tasks, largest=largest, level=level)
        least = min(shown.e_values.values())
        gain = 100 * shown.gain.estimate
        tell(f"confirm, {n} of {n_tasks} tasks: {gain:+.0f} points, evidence {least:.1f} of {1 / level:.0f}")
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
    everyone, work.judges = work.judges, judges
    try:
        verdicts = work.verdicts([work.first.text, best], list(work.twins), work.repeats)
    finally:
        work.judges = everyone
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
    joint = [judge.rater for judge in work.judges if judge.joint]
    if not joint:
        return []
    table = work.asked(work.calls([best, *texts.values()], ids, work.repeats), work.judges)
    shas = {work.rubric(text).sha256: text for text in (best, *texts.values())}
    # ratings of other axes bear the rubric of their own axis: what tells the calls apart is the call
    own = table.filter((table["question"] == work.axis) & table["rater"].is_in(joint))
    text_of = {call: shas[sha] for call, sha in own.select("prompt_sha256", "rubric_sha256").iter_rows()}
    words: dict[str, dict[tuple[Any, ...], str | None]] = {}
    others = table.filter((table["question"] != work.axis) & table["rater"].is_in(joint))
    columns = ("prompt_sha256", "trajectory_id", "rater", "question", "repeat", "verdict")
    for sha, *key, verdict in others.select(*columns).iter_rows():
        if sha in text_of:
            words.setdefault(text_of[sha], {})[tuple(key)] = verdict
    first = words.get(work.first.text, {})
    moved = {
        name: sum(words.get(text, {}).get(key) != word for key, word in first.items()) / max(1, len(first))
        for name, text in (("candidate", best), ("paraphrase", texts["paraphrase"]))
    }
    if moved["candidate"] <= moved["paraphrase"] + NEIGHBOURS:
        return []
    return [f"it moves {moved['candidate']:.0%} of verdicts on other axes, a paraphrase {moved['paraphrase']:.0%}"]


def _worth(work: RubricSearch, ids: Sequence[str], best: str) -> list[dict[str, Any]]:
    """Each changed sentence left out: points that go with it, and verdicts that it turned."""
    changed = [each for each in rubric_sentences(work.first.text, best) if each.sign == "+"][:MOST_SENTENCES]
    rows = []
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
        turned = sum(verdicts[best].get(key) != word for key, word in verdicts[without].items())
        rows.append({"sentence": sentence.text, "points": points, "turned": turned, "items": len(both)})
    return rows


def _written(work: RubricSearch, best: RubricCandidate) -> str:
    """The accepted text as the next version of the rubric, a draft; the one that has this text already."""
    versions = list_rubrics(work.axis)
    if there := next((each.version for each in versions if each.text.split() == best.text.split()), None):
        return there
    version = f"v{1 + max(int(each.version[1:]) for each in versions)}"
    changes = best.reason or "an edit that was shown to be better"
    front = {"axis": work.axis, "version": version, "date": date.today(), "status": "draft", "changes": changes}
    path = own() / "rubrics" / work.axis / f"{version}.md"
    path.write_text(with_front(front, best.text), encoding="utf-8")
    return version


_TREE = ("search", "key", "parent", "became", "reason", "train_gain", "select_gain", "tokens", "proposal_usd")
_GAINS = ("judge", "tasks", "against", "gain", "low", "high", "e_value", "items")
_FRONT = ("search", "key", "judge", "family", "agreement", "decided", "tokens", "gain", "on_front")
_FLIPS = ("run", "task", "judge", "label", "before", "after", "towards", "reason_before", "reason_after")
_WORTH = ("sentence", "points", "turned", "items")


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        [{name: row.get(name) for name in columns} for row in rows], schema=list(columns), infer_schema_length=None
    )


def _tree(
    work: RubricSearch, found: Sequence[Sequence[RubricCandidate]], best: RubricCandidate | None, ending: str
) -> pl.DataFrame:
    rows = []
    for candidates in found:
        first = candidates[0]
        for each in candidates:
            became = "first" if each is first else "refused" if each.refused and not each.train else "left"
            became = "judged" if became == "left" and each.select else became
            train = [score - first.train[id] for id, score in each.train.items() if id in first.train]
            rows.append(
                {
                    "search": each.search or candidates[-1].search,
                    "key": each.key,
                    "parent": each.parent,
                    "became": ("accepted" if ending == "accepted" else "confirmed") if each is best else became,
                    "reason": each.refused or each.reason,
                    "train_gain": sum(train) / len(train) if train and each is not first else None,
                    "select_gain": select_gain(each, first) if each.select else None,
                    "tokens": work.rubric(each.text).tokens,
                    "proposal_usd": each.objectives.get("cost_usd", 0.0),
                }
            )
    return _frame(rows, _TREE)


def _gains(
    work: RubricSearch,
    found: Sequence[Sequence[RubricCandidate]],
    best: RubricCandidate | None,
    ids: Sequence[str],
    verdicts: Mapping[str, Verdicts],
    shown: ShownBetter | None,
    level: float,
) -> pl.DataFrame:
    """The gain on train tasks, on confirm tasks against everything compared, and judge by judge."""
    if best is None or shown is None:
        return _frame([], _GAINS)
    train = [id for candidates in found if best in candidates for id in candidates[0].train if id in best.train]
    first = next(candidates[0] for candidates in found if best in candidates)
    gain = sum(best.train[id] - first.train[id] for id in train) / max(1, len(train))
    rows: list[dict[str, Any]] = [{"tasks": "train", "against": PARENT, "gain": gain, "items": len(train)}]
    tasks = [work.runs[id].cluster_id for id in ids]
    texts = _compared(work, best.text)

    def of(text: str, judge: str | None = None) -> list[float]:
        return [work.mean(verdicts[text], id, work.repeats, judge) for id in ids]

    def row(name: str, text: str, judge: str | None = None) -> dict[str, Any]:
        each = shown_better(of(best.text, judge), {PARENT: of(text, judge)}, tasks, level=level)
        ends = {"gain": each.gain.estimate, "low": each.gain.ci_low, "high": each.gain.ci_high}
        return {
            "judge": judge,
            "tasks": "confirm",
            "against": name,
            **ends,
            "e_value": each.e_values[PARENT],
            "items": each.gain.n_items,
        }

    rows += [row(name, text) for name, text in texts.items()]
    if len(work.judges) > 1 and work.target != "agreement":
        rows += [row(PARENT, work.first.text, judge.rater) for judge in work.judges]
    return _frame(rows, _GAINS)


def _front(work: RubricSearch, found: Sequence[Sequence[RubricCandidate]]) -> pl.DataFrame:
    """Candidates judge by judge on the select tasks; on the front where no other is at least as good in everything."""
    rows = []
    for candidates in found:
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
                        "search": judged[-1].search or 1,
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


def _flips(
    work: RubricSearch, best: RubricCandidate | None, ids: Sequence[str], verdicts: Mapping[str, Verdicts]
) -> pl.DataFrame:
    """Verdicts of the first repeat that differ between the first text and the candidate's."""
    if best is None:
        return _frame([], _FLIPS)
    before, after = verdicts[work.first.text], verdicts[best.text]
    reasons = {
        rubric.sha256: {(row["trajectory_id"], row["rater"]): row["rationale"] for row in rows.iter_rows(named=True)}
        for rubric in (work.first, work.rubric(best.text))
        if (rows := work.kept.table().filter((_q() == work.axis) & _is(rubric))).height
    }
    flips: list[dict[str, Any]] = []
    for id in ids:
        for judge in work.judges:
            old, new = before.get((id, judge.rater, 0)), after.get((id, judge.rater, 0))
            if old is None or new is None or old == new:
                continue
            said = [reasons[rubric.sha256].get((id, judge.rater)) for rubric in (work.first, work.rubric(best.text))]
            label = work.labels[id] or None
            towards = new == label if label in (old, new) else None
            flips.append(
                dict(
                    zip(
                        _FLIPS,
                        (id, work.runs[id].cluster_id, judge.rater, label, old, new, towards, *said),
                        strict=True,
                    )
                )
            )
    return _frame(flips, _FLIPS)


def _q() -> Any:
    import polars as pl

    return pl.col("question")


def _is(rubric: Rubric) -> Any:
    import polars as pl

    return (pl.col("rubric_sha256") == rubric.sha256) & (pl.col("repeat") == 0)
