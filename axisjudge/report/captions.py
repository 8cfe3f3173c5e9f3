"""What stands under a figure: its title, and what its marks are."""

from __future__ import annotations

#: What a figure shows, where its title is short: the unit and the marks belong into a caption.
_CAPTIONS = {
    "agreement_matrix": "Agreement of every two raters; frames hold the judges of one family.",
    "families": "Agreement of pairs of judges within a family and across families. A dot is a pair, a large mark the "
    "mean of its group with its interval.",
    "with_labels": "Agreement of each judge with the labels, with intervals, judges of one family together.",
    "triage": "Accuracy of judges by agreement and confidence.",
    "against_people": "Agreement of each judge with the majority of people, with intervals. A grey band, where there "
    "is one, is what people reach among themselves.",
    "stand_in": "The alternative annotator test: how often each judge is at least as close to people as a person is.",
    "corrected_rates": "Failure rates as each judge gives them (open marks) and corrected by the labels (filled marks, "
    "with intervals); grey is the interval of the labels alone.",
    "reliability": "Reliability: how often a judge is right at each level of its confidence.",
}


def caption_of(name: str, title: str) -> str:
    """The caption of a figure: its title where that states something, and what is drawn."""
    words = _CAPTIONS.get(name, "")
    if not words:
        return title or name.replace("_", " ").capitalize()
    return words if len(title.split()) < 5 or not any(letter.isdigit() for letter in title) else f"{title}. {words}"
