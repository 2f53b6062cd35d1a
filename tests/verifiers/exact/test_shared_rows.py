"""Rows with known right answers, and real completions rewritten in every form of an answer."""

from collections.abc import Callable
from typing import Any

import pytest

from ._rows import outcome, reward, shared_rows


def test_every_case_of_the_contract() -> None:
    differing = [row["id"] for row in shared_rows("cases/exact.jsonl") if outcome(row) != row["expected"]]
    assert differing == []


def _solutions() -> list[dict[str, Any]]:
    return list(shared_rows("data/gsm8k_solutions.jsonl"))


def test_last_number_gets_every_real_solution() -> None:
    rows = _solutions()
    assert len(rows) == 2638
    assert [row["id"] for row in rows if outcome(row) != row["expected"]] == []


FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "hash4": ("hash4", lambda n: f"#### {n}"),
    "boxed": ("boxed", lambda n: f"So it is $\\boxed{{{n}}}$."),
    "answer line": ("answer_line", lambda n: f"**The final answer is:** ${n}."),
    "answer tag": ("answer_tag", lambda n: f"<answer> {n} </answer>"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_solutions_in_another_form(form: str) -> None:
    extract, write = FORMS[form]
    for row in _solutions():
        last = _last_word(row["completion"])
        reference = {**row["reference"], "extract": extract}
        assert reward(f"{row['completion']}\n{write(last)}\n", **reference) == row["expected"], row["id"]


@pytest.mark.parametrize("form", FORMS)
def test_spam_around_a_wrong_answer_earns_nothing(form: str) -> None:
    extract, write = FORMS[form]
    for row in _solutions()[::7]:
        gold = row["reference"]["gold"]
        wrong = f"{int(gold.replace(',', '')) + 1}"
        text = "\n".join([write(gold), f"It could be {gold}, or {gold}.", write(wrong)])
        assert reward(text, **{**row["reference"], "extract": extract}) == 0
        tail = f"{write(gold)} {write(wrong)}"
        assert reward(tail, **{**row["reference"], "extract": extract, "multiple": "reject"}) == 0


def _last_word(completion: str) -> str:
    """The label's own way of writing its answer: these completions end in `A: n`."""
    return completion.rsplit("A:", 1)[1].strip() if "A:" in completion else "none"
