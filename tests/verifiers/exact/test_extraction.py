"""Where an answer is looked for, and which of several counts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.contract.references.exact import ExactReference
from assay.verifiers.candidate import Candidate
from assay.verifiers.exact.extractors import EXTRACTORS

from ._rows import VERIFIER, reward, verdict

LAST_NUMBER = [
    ("The answer is 64, in total.", "64"), ("16-3", "3"), ("x = -5", "-5"), ("between 5-10", "10"),
    ("it costs -$5.", "-5"), ("$-5", "-5"), ("(-5)", "-5"), ("1,234,567 people", "1234567"), ("1,2,3", "3"),
    ("v1.2.3", "3"), ("70,000.", "70000"), ("3 * 4 = 12", "12"), ("--5", "5"), ("1.5e3", "1500"),
    ("20cm", "20"), ("0.5", "0.5"), ("only .5", "0.5"), ("50%", "50"), ("3 – 5", "5"), ("a 12", "12"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold"), LAST_NUMBER)
def test_the_last_number_of_prose(text: str, gold: str) -> None:
    assert reward(text, mode="number", gold=gold, extract="last_number") == 1


@given(st.text(alphabet="0123456789.,-+$e −x \n", max_size=300), st.integers(0, 200))
def test_the_last_number_found_from_the_end_is_the_last_of_all(text: str, padding: int) -> None:
    text = "7," * padding + text
    found = EXTRACTORS["last_number"].all(text)
    assert EXTRACTORS["last_number"].last(text) == (found[-1] if found else None)


def number(text: str, extract: str, **more: object) -> float:
    return reward(text, mode="number", gold="8", extract=extract, **more)


def test_a_marker_wins_over_later_prose() -> None:
    assert number("#### 8\nThis took 3 days.", "hash4") == 1
    assert number("#### 8 in 3 days", "hash4") == 0
    assert number("##### 8", "hash4") == 0


def test_markers_that_announce_one_answer_are_one() -> None:
    text = "Final answer: The answer is 8."
    assert number(text, "answer_line", multiple="reject") == 1
    assert number("Answer: 8. The answer is 9.", "answer_line", multiple="reject") == 0
    assert number("#### 8 #### 8", "hash4", multiple="reject") == 1


def test_emphasis_around_a_marker_is_no_part_of_the_answer() -> None:
    assert number("**#### 8**", "hash4") == number("***#### 8***\n", "hash4") == number("`#### 8`", "hash4") == 1
    assert reward("*#### x*", mode="string", gold="x", extract="hash4") == 1
    assert reward("#### x*", mode="string", gold="x", extract="hash4") == 0


def test_several_answers_are_flagged_and_the_reward_stays() -> None:
    row = {"mode": "number", "gold": "8", "extract": "boxed"}
    assert verdict(r"\boxed{7} \boxed{8}", **row).flags == ("multiple_answers",)
    assert verdict(r"\boxed{7} \boxed{8}", **row).reward == 1
    assert verdict(r"\boxed{8.0} \boxed{8}", **row).flags == ()


def test_the_last_one_counts() -> None:
    assert number("#### 3\n#### 8", "hash4") == 1
    assert number(r"\boxed{8} then \boxed{3}", "boxed") == 0
    assert number("Answer: 3. No, the answer is 8.", "answer_line") == 1


def test_or_the_first() -> None:
    assert number("<answer>8</answer><answer>3</answer>", "answer_tag", multiple="first") == 1
    assert number("8 then 9", "last_number", multiple="first") == 1


def test_rejecting_several_compares_values() -> None:
    assert number("<answer>8</answer><answer>8.0</answer>", "answer_tag", multiple="reject") == 1
    assert number("<answer>7</answer><answer>8</answer>", "answer_tag", multiple="reject") == 0
    assert number("#### 8\n#### eight", "hash4", multiple="reject") == 0


@pytest.mark.parametrize("text", [r"\boxed{8} so \boxed{9", "<answer>8</answer> <answer>9", "<answer>8", r"\boxed{8"])
@pytest.mark.parametrize("multiple", ["last", "reject"])
def test_an_unterminated_answer_is_no_answer(text: str, multiple: str) -> None:
    assert number(text, "boxed" if "box" in text else "answer_tag", multiple=multiple) == 0


@pytest.mark.parametrize("extract", ["answer_tag", "hash4", "answer_line", "boxed", "last_number"])
@pytest.mark.parametrize("text", ["", " ", "none", "<answer></answer>", "####", r"\boxed{}", "Answer:"])
def test_nothing_to_extract(text: str, extract: str) -> None:
    assert verdict(text, mode="number", gold="8", extract=extract).reason == "no_answer"


def test_thinking_is_left_out_unless_kept() -> None:
    text = "<think>#### 5</think> #### 8"
    assert number(text, "hash4", multiple="reject") == 1
    assert number(text, "hash4", multiple="reject", think="keep") == 0
    assert number("<think>#### 8", "hash4") == 0


PIECES = ["<answer>", "</answer>", "<think>", "</think>", "\\boxed{", "}", "####", "Answer: ", "答案是",
          "the answer is ", "A", "B.", "(", ")", "8", "-", "$", "1,000", ".", "\n", " ", "**", "e9", "é", "−",
          ",", "½", "\\text{", "٣"]  # fmt: skip
ROWS = [
    {"mode": "string", "gold": "8", "normalise": ["casefold", "strip_punct", "articles", "ws"]},
    {"mode": "number", "gold": "8", "tol": {"abs": 1.5}}, {"mode": "quantity", "gold": "8 e"},
    {"mode": "set", "gold": ["8", "1000"], "item": "number"}, {"mode": "list", "gold": ["A", "B"]},
    {"mode": "choice", "gold": ["A"], "multi": True, "choices": ["8", "B."]},
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(),
    st.sampled_from(ROWS),
    st.sampled_from(sorted(EXTRACTORS)),
    st.sampled_from(["last", "first", "reject"]),
)
def test_no_text_gets_anything_but_a_verdict(text: str, row: dict[str, object], extract: str, multiple: str) -> None:
    if extract == "choice" and row["mode"] != "choice":
        extract = "whole"
    said = verdict(text, **row, extract=extract, multiple=multiple)
    assert said.reward in (0.0, 1.0) and said.score == said.reward
    assert said == verdict(text, **row, extract=extract, multiple=multiple)


def test_the_span_points_at_the_answer() -> None:
    spec = VERIFIER.prepare(ExactReference(mode="number", gold="8", extract="boxed"))
    text = "<think>é</think> it is \\boxed{ 8 }"
    found = VERIFIER.verify(spec, Candidate.of(text))
    assert found.span is not None and text[slice(*found.span)] == "8" == found.extracted


def test_an_explanation_says_how() -> None:
    told = verdict("9", explain=True, mode="number", gold="8", extract="whole").explanation
    assert told["why"] and told["golds"] and told["rule"].startswith("whole")


@pytest.mark.parametrize("multiple", ["last", "reject"])
@pytest.mark.parametrize("extract", sorted(EXTRACTORS))
@pytest.mark.parametrize(
    "text",
    [
        "#" * 100_000, "####" * 100_000, "#### " * 100_000, "<answer>" * 100_000, "</answer>" * 100_000,
        "\\boxed{" * 100_000, "answer is " * 100_000, "{" * 300_000, "答案" * 100_000, "é" * 300_000,
        "<answer>1</answer>" * 50_000, "Answer: 1\n" * 50_000,
    ],
    ids=lambda text: repr(text[:8]),
)  # fmt: skip
def test_hostile_text_takes_linear_time(text: str, extract: str, multiple: str) -> None:
    mode = "choice" if extract == "choice" else "string"
    gold = "A" if extract == "choice" else "x"
    start = time.process_time()
    reward(text, mode=mode, gold=gold, extract=extract, multiple=multiple)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text", ["The answer is > 57", "The answer is - 57", "The answer is + 57", "Answer: >57"])
def test_a_bound_or_a_loose_sign_is_not_the_value(text: str) -> None:
    assert reward(text, mode="number", gold="57", extract="answer_line") == 0


def test_other_answers_are_no_marker() -> None:
    text = "The answer is 5. All other answers are wrong."
    assert reward(text, mode="number", gold="5", extract="answer_line") == 1


def test_many_final_stops_cost_linear_time() -> None:
    started = time.process_time()
    reward("The answer is 5" + " ." * 400_000, mode="number", gold="5", extract="answer_line")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(("text", "right"), [("1.1", 0), ("1, 1.2", 1), ("1.05, 1.15", 1), ("0.9, 1.0, 1.2", 0)])
def test_with_a_tolerance_each_member_has_one_of_its_own(text: str, right: float) -> None:
    row = {"mode": "set", "gold": ["1", "1.2"], "extract": "whole", "item": "number", "tol": {"abs": 0.1}}
    assert reward(text, **row) == right


@pytest.mark.parametrize("text", [r"\boxed{\boxed{8}}", r"\boxed{ \fbox{8} }", r"\fbox{\boxed{\boxed{8}}}"])
def test_a_box_in_a_box_is_one_answer(text: str) -> None:
    assert number(text, "boxed") == 1


@pytest.mark.parametrize(
    "text", [r"\boxed{\boxed{8} or 9}", r"\boxed{\boxed{9}\boxed{8}}", "\\boxed{" * 9999 + "8" + "}" * 9999]
)
def test_a_box_that_holds_more_than_a_box_is_what_it_holds(text: str) -> None:
    assert number(text, "boxed") == 0
