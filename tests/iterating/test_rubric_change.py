"""The rubric's change sentence by sentence: what is kept, gone and new, and where a reason points."""

import re

import polars as pl

from axisjudge.iterating.work import beside_flips, cited_on_flips, hangs_on, rubric_sentences
from axisjudge.rubric import load_rubric
from axisjudge.studies.rubric_versions.versions import Flip, VersionVerdict
from axisjudge.trajectory import Step, ToolCall, Trajectory

OLD = "# Arguments\n\nA made-up identifier is a fault. The choice of tool is judged here as well.\n\n- Dates count."
NEW = (
    "# Arguments\n\nA made-up identifier is a fault. The moment of it is taken as given.\n\n- Dates and amounts count."
)


def flip(reason, cited=(), item="r"):
    before = VersionVerdict("correct", 0.9, (), "The choice of tool was judged poor.")
    return Flip(item, "judge", before, VersionVerdict("incorrect", 0.8, tuple(cited), reason), 0.5)


def test_both_texts_can_be_read_off_the_sentences():
    texts = [load_rubric("argument_validity", version).text for version in ("v2", "v3")]
    for old, new in ((OLD, NEW), texts):
        found = rubric_sentences(old, new)
        assert [each.number for each in found] == list(range(1, len(found) + 1))
        kept = [each.text for each in found if each.sign != "-"]
        assert " ".join(kept).split() == new.split()
        for each in found:
            if each.words:
                assert "".join(text for sign, text in each.words if sign != "-") == each.text
                assert " ".join(text for sign, text in each.words if sign != "+").strip()
        gone = " ".join(each.text for each in found if each.sign == "-")
        reworded = " ".join("".join(text for sign, text in each.words if sign != "+") for each in found)
        for sentence in re.findall(r"\w+", old):
            assert sentence in " ".join([*kept, gone, reworded])


def test_a_reason_points_to_the_sentence_with_its_rarer_words_or_to_none():
    sentences = rubric_sentences(OLD, NEW)
    assert hangs_on("A fault: the identifier is made-up.", sentences).text.startswith("A made-up")
    assert hangs_on("Amounts and dates do not count.", sentences).sign == "+"
    assert hangs_on("Nothing was read.", sentences) is None
    assert hangs_on("Two words alone, made-up as an identifier.", sentences) is None
    assert hangs_on(None, sentences) is None


def test_cited_steps_are_summed_by_sentence_and_by_tool():
    call = Step(index=0, role="assistant", content="", tool_calls=(ToolCall(id="a", name="pay", arguments={}),))
    run = Trajectory(id="r", source="t", steps=(call, Step(index=1, role="tool", content="no", tool_call_id="a")))
    flips = [
        flip("a made-up identifier, a fault", [0, 9]),
        flip("a fault: its identifier was made-up", [0, 1]),
        flip("well", [1]),
    ]
    found = cited_on_flips(flips, rubric_sentences(OLD, NEW), [run])
    assert found["flips"].to_list() == [2, 1]
    assert found["cited_steps"].to_list() == [3, 1]  # step 9 is not there
    assert found.filter(pl.col("sentence").is_null())["rubric"].to_list() == [None]
    assert found["tools"][0] == "pay 2"


def test_what_a_judge_writes_stays_text():
    page = beside_flips([flip("<script>alert(1)</script>")], rubric_sentences(OLD, NEW + "\n<b>bold</b>"), ("v1", "v2"))
    assert "<script" not in page
    assert "<b>" not in page
    assert "<ins>" in page
    assert "<del>" in page
