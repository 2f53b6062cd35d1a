"""Rows of the kinds that the public suites of Math-Verify and latex2sympy2_extended test, in four surroundings.

Rows: `outside_suites.txt`. Where the peer decides otherwise, a comment there says so.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.verifiers.math.runner import verdict

TEXT = (Path(__file__).parent / "outside_suites.txt").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if " == " in line or " != " in line if not line.startswith("#")]
SURROUNDINGS = {
    "box": ("\\boxed{{{}}}", "boxed_last"),
    "marker": ("The final answer is ${}$.", "final_line"),
    "bare marker": ("Answer: {}", "final_line"),
    "prose": ("So we have ${}$.", "auto"),
}


def _split(row: str) -> tuple[str, str, bool]:
    gold, sign, answer = re.split(" (==|!=) ", row, maxsplit=1)
    return gold, answer, sign == "=="


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_another_suite_is_decided_by_the_contract(row: str, surroundings: str) -> None:
    gold, answer, right = _split(row)
    frame, policy = SURROUNDINGS[surroundings]
    assert (verdict(gold, frame.format(answer), extract=policy).reward == 1.0) is right


def test_both_labels_are_well_represented() -> None:
    right = sum(_split(row)[2] for row in ROWS)
    assert len(ROWS) > 250 and min(right, len(ROWS) - right) > 60
