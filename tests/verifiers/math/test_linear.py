"""Attacks on time: 64 kB of one thing, in every surrounding, under every extraction and profile."""

from __future__ import annotations

import itertools
import time

import pytest
from tests.verifiers.math.runner import VERIFIER

from assay.contract.references.math import MathReference
from assay.verifiers.candidate import Candidate

SIZE = 65_536
BUDGET_S = 3.0
"""Ten times the 0.3 s of CPU that one such completion may cost."""
KINDS = {
    "dollars": "$",
    "dollar pairs": "$x$ ",
    "currency": "$3 ",
    "escaped currency": "\\$3 ",
    "display": "$$1$$ ",
    "Greek letters": "α",
    "Greek commands": "\\alpha ",
    "commas": ",",
    "numbers with commas": "1,",
    "thousands": "1,234,",
    "spaced numbers": "7 ",
    "slashes": "a/b",
    "number slashes": "1/2",
    "digits": "7",
    "superscripts": "²",
    "squares": "x²",
    "halves": "½",
    "spaced halves": "½ ",
    "boxes": "\\boxed{1}",
    "open boxes": "\\boxed{",
    "bare boxes": "\\boxed 1 ",
    "braces": "{}",
    "open braces": "{",
    "closing braces": "}",
    "words": "abc ",
    "units": "5 cm ",
    "units in text": "5\\text{ cm} ",
    "or": "7 or ",
    "and": "7 and ",
    "equals": "=",
    "chains": "1=1=",
    "markers": "Answer: ",
    "answers": "The answer is 7. ",
    "hashes": "#### 7\n",
    "power towers": "^{2",
    "powers": "2^2",
    "subscripts": "x_1 ",
    "nested fractions": "\\frac{1}{1+",
    "open fractions": "\\frac{",
    "prose of numbers": "So there are 7 apples and 8 pears in 9 boxes, ",
    "sentences": "He has 7 apples. ",
    "sums in prose": "3 x 4 + 5 = ",
    "answer tags": "<answer>7</answer>",
    "open tags": "<answer>",
    "parentheses": "(",
    "pairs": "(1,2)",
    "inline mathematics": "\\(1\\) ",
    "open inline mathematics": "\\(",
    "cells": "1&",
    "exclamations": "7! ",
    "stops": ".",
    "colons": "1:",
    "bars": "|",
    "primes": "x'",
    "bold": "**7** ",
    "backslashes": "\\",
    "double escapes": "\\\\frac12 ",
    "escaped line breaks": "7\\n",
    "wide markers": "答案：7。",
    "negations": "not ",
    "end tokens": "<|end|>",
    "summaries": "a drop of 7, ",
}
FRAMES = ("{}", "\\boxed{{{}}}", "Answer: {}", "So it is {}.", "So ${}$", "<answer>{}</answer>", "{} so it is 7.")
POLICIES = ("boxed_last", "final_line", "auto")
PROMPT = "Tom has 3 apples and 5 pears. How many can't he eat?"
SPECS = {
    (extract, profile): VERIFIER.prepare(
        MathReference.model_validate({"answer": "42", "extract": extract, "profile": profile})
    )
    for extract, profile in itertools.product(POLICIES, ("strict", "lenient"))
}


def _text(kind: str, frame: str, size: int) -> str:
    unit = KINDS[kind]
    return frame.format((unit * (size // len(unit) + 1))[:size])


def _seconds(text: str, extract: str, profile: str) -> float:
    """CPU seconds of one verdict."""
    candidate = Candidate.of(text, prompt=PROMPT)
    started = time.process_time()
    assert VERIFIER.verify(SPECS[extract, profile], candidate).reward == 0.0
    return time.process_time() - started


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_completion_of_one_kind_is_cheap(kind: str) -> None:
    for frame, (extract, profile) in itertools.product(FRAMES, SPECS):
        assert _seconds(_text(kind, frame, SIZE), extract, profile) < BUDGET_S, (frame, extract, profile)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [4_000, 19_000])
def test_an_answer_that_is_still_read_is_cheap(kind: str, size: int) -> None:
    assert _seconds(_text(kind, "\\boxed{{{}}}", size), "boxed_last", "strict") < BUDGET_S


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_length_costs_at_most_three_times_as_much(kind: str) -> None:
    for frame in ("{}", "So it is {}."):
        half, whole = (
            min(_seconds(_text(kind, frame, size), "auto", "strict") for _ in range(3)) for size in (SIZE, 2 * SIZE)
        )
        # 20 ms: what the clock and the machine's other load may add.
        assert whole <= 3 * half + 0.02, (frame, half, whole)
