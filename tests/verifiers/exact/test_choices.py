"""Multiple choice: one label or one option, and nothing beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ._rows import reward

KG = ["4 kg", "5 kg", "6 kg", "7 kg"]
RIGHT = [
    "B", "b", "**B**", "(B)", "[b]", "B.", "B)", "B:", "B. 5 kg", "B) 5 kg", "(B) 5 kg", "B: 5 kg.", "5 kg",
    "5 kg.",
    r"\boxed{B}", r"\boxed{\text{B}}", r"\boxed{\text{(B)}}", r"\boxed{\textbf{B}}", "Answer: B",
    "The answer is (B).",
    "It is not A. The final answer is **B**.", "Ｂ", "答案是B。", "A is wrong.\nAnswer: 5 kg", "Antwort: B",
    r"$\boxed{B}$",
    "**Answer: B. 5 kg**", "#### B",
]  # fmt: skip
WRONG = [
    "A", "A, B, C, D", "A or B", "B or C", "Not B. Answer: C", "B. 4 kg", "E", "(B", "B C", "AB", "B!?",
    "kg", "", "5",
    "The answer is A or B", "B is right", "not B", "Option B", r"\boxed{B} \boxed{C}", r"\boxed{B} \boxed{C",
    "B and C",
    "Answer: B or C", "B / C", "5 kg or 6 kg", "Answer: neither B", "I think B", "<b>", "B.B", "maybe (B)",
]  # fmt: skip


def choose(text: str, **more: object) -> float:
    return reward(text, **{"mode": "choice", "gold": "B", "extract": "choice", "choices": KG, **more})


@pytest.mark.parametrize("text", RIGHT)
def test_names_b(text: str) -> None:
    assert choose(text) == 1


@pytest.mark.parametrize("text", WRONG)
def test_does_not_name_b_alone(text: str) -> None:
    assert choose(text) == 0


def test_an_option_that_extends_another() -> None:
    options = {"choices": ["Guilty", "Guilty of Romance"]}
    assert choose("Guilty of Romance", **options) == 1
    assert choose("Guilty of Romance", gold="A", **options) == 0


def test_case_decides_where_options_differ_by_it() -> None:
    options = {"choices": ["5 Mg", "5 mg"]}
    assert choose("5 mg", **options) == 1
    assert choose("5 MG", **options) == 0


def test_a_text_that_two_options_share_names_none() -> None:
    assert choose("same", choices=["same", "same", "other"]) == 0
    assert choose("B. same", choices=["same", "same", "other"]) == 1


def test_decimal_labels() -> None:
    row = {"labels": "decimal", "gold": "2", "choices": ["x", "y"]}
    assert choose("2", **row) == choose("(2)", **row) == choose("2. y", **row) == choose("y", **row) == 1
    assert choose("1", **row) == choose("02", **row) == choose("B", **row) == choose("2.5", **row) == 0
    assert choose("2", **{**row, "gold": 2}) == 1


@pytest.mark.parametrize(
    "text", ["A, B and C", "A,B,C", "C & B & A", "(A), (B), and (C)", "a, b, c.", "ANSWER: A, B and C"]
)
def test_several_labels_are_one_answer(text: str) -> None:
    assert choose(text, gold=["A", "B", "C"], multi=True) == 1


@pytest.mark.parametrize(
    "text", ["A, B", "A, B, C, D", "ABC", "A B C", "A or B or C", "A, B, C, E", "A;B;C", "A, B, and"]
)
def test_another_set_of_labels(text: str) -> None:
    assert choose(text, gold=["A", "B", "C"], multi=True) == 0


def test_another_extraction_serves_a_choice() -> None:
    assert choose("<answer>B</answer>", extract="answer_tag") == 1
    assert choose("B is it. <answer>C</answer>", extract="answer_tag") == 0


@given(
    st.lists(st.sampled_from("ABCD"), min_size=2, max_size=5, unique=True),
    st.sampled_from([", ", " or ", "/", " ", "\n"]),
)
def test_naming_several_never_pays(labels: list[str], joint: str) -> None:
    assert choose(joint.join(labels)) == 0


@pytest.mark.parametrize("extract", ["whole", "answer_line", "choice", "boxed"])
def test_a_box_is_read_under_every_extraction(extract: str) -> None:
    options = {"mode": "choice", "gold": "B", "choices": ["w", "x", "y", "z"], "extract": extract}
    start = "" if extract == "whole" else "Answer: "
    assert reward(start + "\\boxed{B}", **options) == 1
    assert reward(start + "\\boxed{C}", **options) == 0
