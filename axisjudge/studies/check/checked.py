"""What a table of judges' and people's words supports: everything that is computed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from axisjudge.imports.recognise import Recognised
from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Kind
from axisjudge.studies.check.columns import Roles
from axisjudge.studies.check.comparison import Difference, PeoplePair
from axisjudge.studies.check.compute import CheckTerms, JudgeCheck, share
from axisjudge.studies.check.votes import Votes, counted, differing


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Checked(Result):
    """What a table of judges' and people's words supports, and what it does not.

    `judges` holds one entry a judge, `differences` every pair of them on the same items, `ranks` their simultaneous
    rank sets by balanced accuracy, `people` every pair of people. `votes` are the arrays behind it, `roles` what the
    columns were taken for, and `options` the caller's choices as the command takes them.
    """

    _keys = columns(
        "source words columns n_items=votes.n_items n_labelled=votes.n_labelled n_clusters=votes.n_clusters",
        "n_copies=votes.n_copies n_tied=votes.n_tied cluster_unit=votes.unit sampling=terms.sampling risk=terms.risk",
        "ci_level=terms.ci_level judges differences people answer sentences ranks=ranks_by_name",
        "level=votes.question.level recognised counts disagreements notes",
    )

    source: str
    votes: Votes
    roles: Roles
    terms: CheckTerms
    judges: tuple[JudgeCheck, ...]
    differences: tuple[Difference, ...]
    ranks: RankSets | None
    people: tuple[PeoplePair, ...]
    known: Recognised
    notes: tuple[str, ...] = ()
    kind: Kind = "pandas"
    options: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, Any]:
        """The words of the question, and which of them is failing (None where nothing says so)."""
        asked = self.votes.question
        return {"passing": asked.passing or None, "failing": asked.failing or None, "all": asked.words}

    @property
    def columns(self) -> dict[str, Any]:
        """What each column was taken for; None where there is none."""
        one = {name: getattr(self.roles, name) or None for name in ("cluster", "item")}
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
            roles.cluster: "cluster",
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
