"""Which text is judged: thinking is what stands before the last `</think>` of prefill and completion."""

import pytest

from assay.verifiers import Candidate


@pytest.mark.parametrize(
    ("prefill", "text", "answer"),
    [
        ("", "5", "5"),
        ("", "<think>a</think>5", "5"),
        ("<think>", "a</think>5", "5"),
        ("<think>a</thi", "nk>5", "5"),
        ("<think>a</think>", "5", "5"),
        ("", "<think>a</think>b</think>5", "5"),
        ("", "<think>a", None),
        ("<think>", "a", None),
        ("<thi", "nk>a", None),
        ("", "<think>a</think>x<think>5", None),
        ("<think>a</think><think>", "5", None),
    ],
)
def test_thinking(prefill: str, text: str, answer: str | None) -> None:
    found = Candidate.of(text, prefill=prefill).answer
    assert (found and found.text) == answer
    assert found is None or text[found.offset :] == answer
