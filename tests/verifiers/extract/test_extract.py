"""Boxes, tags, markers, sentences and Markdown: where an answer stands in a text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.extract import (
    answer_tags,
    find_boxes,
    iter_markers,
    last_answer_tag,
    last_box,
    last_marker,
    last_marker_answer,
    last_sentence,
    strip_markdown,
    strip_remark,
)


def box(text: str) -> str | None:
    found = last_box(text)
    return None if found is None else found.content(text)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"So \boxed{42}.", "42"),
        (r"\boxed {42}", "42"),
        (r"\boxed 5$", "5"),
        (r"\boxed5.", "5"),
        (r"\fbox{a} then \boxed{b}", "b"),
        (r"\boxed{a} then \fbox{b}", "b"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\boxed{42}}", r"\boxed{42}"),
        (r"\boxed{\frac{1}{2}} and \boxed{}", r"\frac{1}{2}"),
        (r"\boxed{a \boxed{42}", "42"),
        (r"\boxed{42} \boxed{cut off", None),
        (r"\boxed{4", None),
        (r"\boxed{ }", None),
        (r"\boxedx{4}", None),
        ("no box", None),
    ],
)
def test_the_last_complete_box_counts(text: str, content: str | None) -> None:
    assert box(text) == content


def test_boxes_keep_their_places() -> None:
    text = r"a \boxed{x} b \fbox{yz} \boxed{"
    boxes = find_boxes(text)
    assert [text[b.start : b.end] for b in boxes.complete] == [r"\boxed{x}", r"\fbox{yz}"]
    assert boxes.unclosed == text.rindex(r"\boxed")


def test_tags_are_read_to_their_end() -> None:
    tags = answer_tags("<answer> 5 </answer><answer>6<answer>7</answer>")
    assert [tag.text for tag in tags.closed] == ["5", "7"] and tags.unclosed < 0
    assert last_answer_tag("<answer>5</answer> <answer>6") is None
    assert last_answer_tag("none") is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: 42", "42"),
        ("The answer is 42.", "42"),
        ("THE FINAL ANSWER IS: 42", "42"),
        ("**Answer:** 42", "42"),
        ("**Answer**: **42**.", "42"),
        ("**Answer: 42**", "42"),
        ("✅ Final Answer: `42`", "42"),
        ("answer is x. Then more", "x"),
        ("The answer is 1.5. So it is", "1.5"),
        ("Answer: 3*5 + 4*8 = 47", "3*5 + 4*8 = 47"),
        ("Answer: 2**10", "2**10"),
        ("Answer: C (the third one).", "C"),
        ("Answer: (3, 7)", "(3, 7)"),
        ("Answer: f(x)", "f(x)"),
        ("#### 1,250\nnext", "1,250"),
        ("##### 5", None),
        ("Die Antwort lautet 7.", "7"),
        ("Antwort: 7", "7"),
        ("答案：42（共 7 种情况）", "42"),
        ("因此，最终答案为 42。其他", "42"),
        ("La respuesta es 4", "4"),
        ("Ответ: 4", "4"),
        ("Is the answer 42? No: the answer is 17.", "17"),
        ("Answer:\n42", ""),
        ("unanswer: 5", None),
        ("the answers differ", None),
        ("no marker", None),
    ],
)
def test_the_last_marker_announces(text: str, answer: str | None) -> None:
    found = last_marker_answer(text)
    assert (None if found is None else found.text) == answer


def test_markers_come_last_first_and_the_span_holds_the_answer() -> None:
    text = "Answer: 1\n#### 2\nThe answer is 3."
    assert [text[m.start : m.end] for m in iter_markers(text)] == ["answer is", "####", "Answer:"]
    assert last_marker(text) == next(iter_markers(text))
    found = last_marker_answer(text)
    assert found is not None and found.text in text[found.start : found.end] and found.stop == "."


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("One. Two is 5.", "Two is 5."),
        ("x = 1.5", "x = 1.5"),
        ("So e.g. this", "So e.g. this"),
        ("First\n\nSecond", "Second"),
        ("好。结果是5。", "结果是5。"),
        ("Really? Yes!", "Yes!"),
        ("", ""),
    ],
)
def test_the_last_sentence(text: str, last: str) -> None:
    start, end = last_sentence(text)
    assert text[start:end].strip() == last


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**bold**", "bold"),
        ("*a* and __b__", "a and b"),
        ("`code`", "code"),
        ("## Heading", "Heading"),
        ("* item", "item"),
        ("- 5", "- 5"),
        ("> 5", "> 5"),
        ("2**3 * 4**5", "2**3 * 4**5"),
        ("a_1 + b_2", "a_1 + b_2"),
        ("3 * 4", "3 * 4"),
        ("***both***", "both"),
    ],
)
def test_markdown_goes_and_mathematics_stays(text: str, plain: str) -> None:
    assert strip_markdown(text) == plain


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("42 (units)", "42"),
        ("42（共七种）", "42"),
        ("(3, 7)", "(3, 7)"),
        ("2 (3)", "2 (3)"),
        ("3 (\\pi)", "3 (\\pi)"),
        ("(all)", "(all)"),
    ],
)
def test_a_remark_that_holds_words_goes(text: str, rest: str) -> None:
    assert strip_remark(text) == rest


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab \\{}$*_`.!?#<>/answer:是为答案。\nboxed()5", max_size=80))
def test_no_text_raises_and_spans_lie_inside(text: str) -> None:
    for found in (last_box(text), last_answer_tag(text), last_marker_answer(text)):
        assert found is None or 0 <= found.start <= found.end <= len(text)
    start, end = last_sentence(text)
    assert 0 <= start <= end <= len(text)
    strip_markdown(text)


@pytest.mark.parametrize(
    "unit", ["\\boxed{", "\\boxed{x}", "answer ", "answer: ", "*a ", "<answer>", "####", ". ", "(", "`"]
)
def test_everything_is_linear(unit: str) -> None:
    def spent(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.process_time()
        find_boxes(text), last_marker_answer(text), last_sentence(text), answer_tags(text), strip_markdown(text)
        return time.process_time() - started

    assert spent(800_000) < 40 * spent(80_000) + 0.5
