r"""LaTeX that went through JSON twice: `\\frac{1}{2}` with two backslashes, and `\n` in place of a line break."""

from __future__ import annotations

import pytest
from tests.verifiers.math.runner import boxed, verdict

MATRIX = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"
ANSWERS = [
    (r"\frac{1}{2}", r"\frac{1}{3}"),
    (r"2\sqrt{3}", r"3\sqrt{2}"),
    (r"x \neq 3", "x = 3"),
    (r"\left(1,2\right]", "[1,2)"),
    (r"\{1,2\}", "(1,2)"),
    (r"50\%", "50"),
    (r"5\text{ cm}", r"5\text{ m}"),
    (r"\frac{\pi}{4}", "4"),
    (MATRIX, MATRIX.replace("4", "5")),
]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


@pytest.mark.parametrize(("gold", "other"), ANSWERS)
def test_doubled_backslashes_in_an_answer_are_read_as_single(gold: str, other: str) -> None:
    assert boxed(gold, _escaped(gold)) and boxed(_escaped(gold), gold)
    assert not boxed(other, _escaped(gold))


@pytest.mark.parametrize(("gold", "other"), ANSWERS)
@pytest.mark.parametrize(
    "frame",
    [
        "First, $1+1=2$.\nSo \\boxed{@}.\n",
        "We see that\n\\[ @ \\]",
        "We add.\nThe answer is $@$.\n",
        "We add 3 and 4.\n#### @\nDone",
        "It is \\(@\\).",
    ],
)
def test_a_text_that_is_escaped_twice_is_read_as_escaped_once(frame: str, gold: str, other: str) -> None:
    text = _escaped(frame.replace("@", gold))
    assert verdict(gold, text, extract="auto").reward == 1.0
    assert verdict(other, text, extract="auto").reward == 0.0


def test_the_span_stands_in_the_text_as_it_was_sent() -> None:
    text = r"We add.\nSo \\(x=1\\).\nThe answer is \\boxed{\\frac{1}{2}}.\n"
    scored = verdict("1/2", text)
    assert scored.span is not None and text[slice(*scored.span)] == r"\\frac{1}{2}"


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        (MATRIX, f"\\boxed{{{MATRIX}}}"),
        (r"\nu", r"The answer is $\nu$."),
        (r"x\ne 2", r"So \(x \ne 2\)."),
        ("2", "Rows: $a \\\\ b$.\nSo it is $2$."),
        (r"\begin{cases}x=1\\y=2\end{cases}", r"\boxed{\begin{cases}x=1\\y=2\end{cases}}"),
    ],
)
def test_row_breaks_and_commands_with_n_are_unchanged(gold: str, text: str) -> None:
    assert verdict(gold, text, extract="auto").reward == 1.0
