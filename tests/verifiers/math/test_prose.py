"""Plain prose: what a statement asserts, and what it does not (contract, appendix "math", step 3 of `auto`).

Every line of `prose_right.txt` asserts 7; no line of `prose_wrong.txt` does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.verifiers.math.runner import VERIFIER, auto, rows, verdict

from assay.contract.references.math import MathReference
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate, Message

HERE = Path(__file__).parent
LENIENTLY = re.compile("%|per ?cent|百分之|^The answer is about")


def _lines(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()


def _scored(gold: str, completion: str, *, prompt: Any = None, profile: str = "strict") -> Verdict:
    spec = VERIFIER.prepare(MathReference.model_validate({"answer": gold, "extract": "auto", "profile": profile}))
    return VERIFIER.verify(spec, Candidate.of(completion, prompt=prompt))


@pytest.mark.parametrize("statement", _lines("prose_right.txt"))
def test_a_statement_that_asserts_one_quantity_is_right(statement: str) -> None:
    assert auto("7", statement)
    assert not auto("9", statement)


@pytest.mark.parametrize("statement", _lines("prose_wrong.txt"))
def test_a_statement_that_asserts_something_else_is_paid_nothing(statement: str) -> None:
    assert not auto("7", statement)
    # `lenient` lets 7 equal 7 %, and drops an approximation sign before a marker's answer.
    assert _scored("7", statement, profile="lenient").reward == 0.0 or LENIENTLY.search(statement)


@pytest.mark.parametrize("prompted", [True, False])
@pytest.mark.parametrize(("profile", "share"), [("strict", 0.985), ("lenient", 0.99)])
def test_prose_of_real_models_is_read_and_no_wrong_answer_is_paid(profile: str, share: float, prompted: bool) -> None:
    right = 0
    cases = rows("data/prose_gsm8k.jsonl")
    for row in cases:
        prompt = row.get("prompt") if prompted else None
        reward = _scored(row["reference"]["answer"], row["completion"], prompt=prompt, profile=profile).reward
        assert not (reward == 1.0 and row["expected"] == 0.0), row["id"]
        right += reward == row["expected"]
    assert right >= share * len(cases)


def test_every_case_of_the_second_collection_is_right() -> None:
    wrong = []
    for row in rows("cases/math2.jsonl"):
        spec = VERIFIER.prepare(MathReference(**row["reference"]))
        if VERIFIER.verify(spec, Candidate.of(row["completion"], prompt=row.get("prompt"))).reward != row["expected"]:
            wrong.append(row["id"])
    assert wrong == []


BOX = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


def test_real_solutions_without_their_box_are_read_as_prose() -> None:
    read = paid = 0
    for row in rows("data/math_cot.jsonl"):
        bare = BOX.sub(lambda match: match.group(1), row["completion"])
        if "\\boxed" in bare:
            continue
        reward = _scored(row["reference"]["answer"], bare).reward
        read += reward == 1.0 == row["expected"]
        paid += reward == 1.0 and row["expected"] == 0.0
    assert paid == 0 and read > 100


# --- the prompt ------------------------------------------------------------------------------------------------
SOLD = "Tom sold 40 cakes for 3 dollars each. How much did he earn?"


def test_a_number_that_the_prompt_gives_is_context() -> None:
    statement = "40 cakes made 120 dollars."
    assert _scored("120", statement).reason == "hedged"
    assert _scored("120", statement, prompt=SOLD).reward == 1.0
    assert _scored("40", statement, prompt=SOLD).reward == 0.0
    messages = (Message(role="system", content="Be brief."), Message(role="user", content=SOLD))
    assert _scored("120", statement, prompt=messages).reward == 1.0


def test_the_prompt_settles_no_alternative_and_no_list() -> None:
    for statement in ("It is 40 or 120.", "It is between 40 and 120.", "The values are 40 and 120."):
        assert _scored("120", statement, prompt=SOLD).reward == 0.0


@pytest.mark.parametrize(
    ("question", "statement", "right"),
    [
        ("How many eggs won't he be able to place?", "He won't be able to place 16 eggs.", True),
        ("How many cakes did she not sell?", "She did not sell 16 cakes.", True),
        ("How many eggs can he place?", "He won't be able to place 16 eggs.", False),
        ("How many cakes did she not sell?", "She did not bake 16 cakes.", False),
        ("Which number is not a square?", "It is not 16.", False),
        ("She did not sell all. How many did she sell?", "She did not sell 16 cakes.", False),
    ],
)
def test_a_negated_verb_asserts_its_object_only_where_the_question_negates_it(
    question: str, statement: str, right: bool
) -> None:
    assert (_scored("16", statement, prompt=question).reward == 1.0) is right
    assert _scored("16", statement).reward == 0.0


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("There are 5! ways.", "120"),
        ("There are 5!.", "120"),
        ("So the number of orders is 5!, as they differ.", "120"),
        ("It equals 3! + 5!", "126"),
        ("So we get $5!$", "120"),
        ("There are 5!/3! ways", "20"),
        ("The total is 5!", "5"),
    ],
)
def test_an_exclamation_mark_is_a_factorial_unless_it_ends_the_statement(statement: str, value: str) -> None:
    assert auto(value, statement)
    assert not auto("5" if value != "5" else "120", statement)


def test_lenient_takes_the_main_clause_of_what_stays_ambiguous() -> None:
    statement = "40 bakers made 120 cakes."
    assert _scored("120", statement).reason == "hedged"
    assert _scored("120", statement, profile="lenient").reward == 1.0
    assert _scored("40", statement, profile="lenient").reward == 0.0


def test_two_clauses_with_a_value_each_are_ambiguous() -> None:
    for statement in ("The first is 3 but the second is 7.", "One root is 3, the other is 7."):
        assert _scored("7", statement).reason == _scored("3", statement).reason == "hedged"


# --- markers -----------------------------------------------------------------------------------------------------
def test_markers_with_different_answers_in_one_statement_are_a_hedge() -> None:
    for text in (
        "Answer: 8 or answer: 9",
        "The answer is 8, or the answer is 9.",
        "<answer>8</answer> or <answer>9</answer>",
    ):
        assert verdict("9", text, extract="auto").reason == "hedged"
    assert auto("9", "Answer: 8. I made a slip. Answer: 9")
    assert auto("9", "Answer: 9. In other words, the answer is 9.")


def test_a_remark_that_can_change_the_answer_is_part_of_it() -> None:
    for remark in (
        "kidding, 8",
        "base 12",
        "to the power of 3",
        "times two",
        "in millions",
        "or so",
        "not exactly",
        "minus 1",
    ):
        assert not auto("9", f"The answer is 9 ({remark}).")
    for remark in ("in total", "there are 4 cases", "simplified", "as required"):
        assert auto("9", f"The answer is 9 ({remark}).")


def test_tokens_that_end_a_completion_are_no_text() -> None:
    for token in ("</s>", "<|endoftext|>", "<|im_end|>", "<eos>", "<|eot_id|>"):
        assert auto("17", f"#### 17{token}") and auto("17", f"So it is 17.{token}\n")


def test_abbreviations_and_initials_end_no_sentence() -> None:
    for text in (
        "It is 17 m from Mt. Blanc.",
        "He owes 17 dollars to J. Smith.",
        "Prof. Lee has 17 pupils vs. Dr. Wu.",
    ):
        assert auto("17", text)
    assert not auto("17", "It is 17. Then it is 18.")
