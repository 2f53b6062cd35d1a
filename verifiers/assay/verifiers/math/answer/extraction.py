r"""Where the answer of a mathematical completion stands: three named policies (contract, "math").

    boxed_last  the last complete, non-blank box; a later box that never closes: no answer
    final_line  the last `<answer>` tag, else the last marker's answer
    auto        the first of: boxed_last; final_line; the last mathematics of the last sentence

A policy is never a cascade of guesses: what exists first is the answer, whether or not it parses.
A last sentence that poses, asks, doubts or gives up holds no answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.verifiers.extract import (
    Boxes,
    Found,
    Marker,
    answer_tags,
    find_boxes,
    last_marker,
    marker_answer,
    sentence_end,
)
from assay.verifiers.math.answer.context import Given
from assay.verifiers.math.answer.escapes import unescaped
from assay.verifiers.math.answer.prose import asserted
from assay.verifiers.math.answer.statements import Statement, cleaned, last_statement, without_end_tokens

SPAM = 5
"""More different boxes, tags or markers than this is flagged as `answer_spam`."""
_LOOSE = r"[\s$\\()\[\],.*]*"
_OR_BETWEEN = re.compile(rf"(?:</answer>)?{_LOOSE}(?:or|OR|或者?|oder|ou){_LOOSE}(?:<answer>)?")
_JOINT_BEFORE_MARKER = re.compile(
    r"[\s,;.*]*(?:(\bor\b|或者?|\boder\b|\bou\b)|\band\b)?[\s,:*]*(?:(?:the|my|an|another|final|alternative|alternatively"
    r"|possible|else|maybe)[\s,*]+)*\Z",
    re.I,
)
_JOINING_WORDS = "or oder ou and the my an another final alternative alternatively possible else maybe 或 或者"
_JOINING = frozenset(_JOINING_WORDS.split())
"""The last word before a marker that may go on with the statement before, as `_JOINT_BEFORE_MARKER` reads it."""
_JOINT_REACH = 40
_WINDOW = 300
"""How far before a marker (code points) another one of the same statement is looked for."""
# A remark that takes an answer back: `42 (or 43)`.
_HEDGING_REMARK = re.compile(r"\b(?:or|not|maybe|perhaps|possibly|but|unless|if)\b|或|不", re.I)
# Before a marker, in its clause.
_UNANNOUNCED = re.compile(
    r"\b(?:false|wrong|incorrect|untrue|mistaken|mistake|error|not true|not the case|not correct|not right)\b"
    r"[^.!?\n]{0,60}\b(?:that|say|saying|think|claim|conclude|believe)\b"
    r"|\b(?:wrong|incorrect|false|untrue)\s*$|\b(?:doubt|(?:don't|do not|cannot|can't) (?:think|believe|say|claim))\b"
)
NOTHING_GIVEN = Given()


class Extraction(NamedTuple):
    """An answer, or why there is none."""

    found: Found | None
    reason: str = ""
    policy: str = ""
    flags: tuple[str, ...] = ()


def extract(text: str, policy: str, context: Given = NOTHING_GIVEN, *, lenient: bool = False) -> Extraction:
    """The answer in `text` (thinking left out) under `policy`. Never raises."""
    plain = unescaped(text)
    extraction = _extract(without_end_tokens(plain.text), policy, context, lenient=lenient)
    found = extraction.found
    if found is None or not plain.removed:
        return extraction
    there = found._replace(start=plain.original(found.start), end=plain.original(found.end))
    return extraction._replace(found=there)


def _extract(text: str, policy: str, context: Given, *, lenient: bool) -> Extraction:
    """The answer in a text with single escapes."""
    if policy != "final_line" and ("\\boxed" in text or "\\fbox" in text):
        boxed = _only_box(text) or _boxed(text, find_boxes(text))
        if boxed is not None or policy == "boxed_last":
            return boxed or Extraction(None, "no_answer", "boxed_last")
    elif policy == "boxed_last":
        return Extraction(None, "no_answer", policy)
    lined = _final_line(text)
    if lined is not None or policy == "final_line":
        return lined or Extraction(None, "no_answer", "final_line")
    return _final_statement(text, context, lenient=lenient)


def _only_box(text: str) -> Extraction | None:
    """The common case, without matching braces: one box, and no group in it."""
    start = text.find("\\boxed{") + 7
    close = text.find("}", start)
    content = text[start:close]
    if start < 7 or close < 0 or "{" in content or "\\" in content or not content.strip(" \t\r\n~$"):
        return None
    if text.find("\\boxed", close) >= 0 or text.find("\\boxed") != start - 7 or "\\fbox" in text:
        return None
    return Extraction(Found(content, start, close), "", "boxed_last")


def _boxed(text: str, boxes: Boxes) -> Extraction | None:
    """The last box; None where there is none at all."""
    full = [box for box in boxes.complete if text[box.inner_start : box.inner_end].strip(" \t\r\n~$")]
    if not full:
        return Extraction(None, "no_answer", "boxed_last") if boxes.unclosed >= 0 else None
    box = full[-1]
    if boxes.unclosed > box.start:
        return Extraction(None, "no_answer", "boxed_last", ("unterminated",))
    flags = _spam([each.content(text) for each in full])
    if len(full) > 1 and flags:
        between = text[full[-2].end : box.start]
        if len(between) < 40 and _OR_BETWEEN.fullmatch(between):
            return Extraction(None, "hedged", "boxed_last", flags)
    return Extraction(Found(box.content(text), box.inner_start, box.inner_end), "", "boxed_last", flags)


def _spam(contents: list[str]) -> tuple[str, ...]:
    if len(contents) < 2:
        return ()
    different = {"".join(content.split()) for content in set(contents)}
    if len(different) < 2:
        return ()
    return ("multiple_answers", "answer_spam") if len(different) > SPAM else ("multiple_answers",)


def _final_line(text: str) -> Extraction | None:
    tagged = _tagged(text) if "<answer>" in text else None
    if tagged is not None:
        return tagged
    marker = last_marker(text)
    if marker is None:
        return None
    found = marker_answer(text, marker)
    if not found.text:
        return None
    if _is_doubted(text, marker, found):
        return Extraction(found, "hedged", "final_line")
    if _differs_from_marker_before(text, marker, found):
        return Extraction(found, "hedged", "final_line", ("multiple_answers",))
    return Extraction(_unboxed(found), "", "final_line")


def _tagged(text: str) -> Extraction | None:
    """The last `<answer>` tag; None where there is none that closes."""
    tags = answer_tags(text)
    if tags.unclosed >= 0:
        return Extraction(None, "no_answer", "final_line", ("unterminated",))
    if not tags.closed:
        return None
    flags = _spam([tag.text for tag in tags.closed])
    if flags and _OR_BETWEEN.fullmatch(text[tags.closed[-2].end : tags.closed[-1].start][:80]):
        return Extraction(None, "hedged", "final_line", flags)
    return Extraction(_unboxed(tags.closed[-1]), "", "final_line", flags)


def _is_doubted(text: str, marker: Marker, found: Found) -> bool:
    """Whether the clause before a marker, the stop behind its answer, or a remark takes the answer back."""
    before = text[max(0, marker.start - 200) : marker.start]
    clause = before[max(map(before.rfind, ".!?,;:\n")) + 1 :]
    if _UNANNOUNCED.search(clause.replace("’", "'").lower()) or (found.stop and found.stop in "?？"):
        return True
    said = text[found.start : found.end]
    return _HEDGING_REMARK.search(said, said.rfind(found.text) + len(found.text)) is not None


def _differs_from_marker_before(text: str, marker: Marker, found: Found) -> bool:
    """Whether an earlier marker, in the same statement or joined by `or`, announces another answer."""
    low = max(0, marker.start - _WINDOW)
    before = text[low : marker.start]
    if before.endswith("\n") and _last_word(before) not in _JOINING:
        return False  # a marker that starts a line begins a statement of its own
    earlier = last_marker(before)
    if earlier is None:
        return False
    between = before[earlier.end :]
    joint = _JOINT_BEFORE_MARKER.search(between)
    alternative = joint is not None and joint.group(1) is not None
    if not alternative and (not between.strip() or sentence_end(text, low + earlier.end, marker.start) < marker.start):
        return False
    if not alternative and "\n" in between.strip():
        return False
    said = asserted(
        cleaned(between[: joint.start()] if joint else between).rstrip(" ,;."), NOTHING_GIVEN, lenient=False
    )
    return bool(said.text) and "".join(said.text.split()) != "".join(found.text.split())


def _last_word(text: str) -> str:
    words = text[-_JOINT_REACH:].rstrip(" \t\r\n,:*;.").split()
    return words[-1].lower() if words else ""


def _unboxed(found: Found) -> Found:
    """`<answer>\\boxed{42}</answer>` under `final_line`: the box says what the answer is."""
    inner = find_boxes(found.text)
    if inner.complete and inner.unclosed < 0:
        content = inner.complete[-1].content(found.text)
        return found._replace(text=content) if content.strip() else found
    return found


def _final_statement(text: str, context: Given, *, lenient: bool) -> Extraction:
    """What the last statement asserts."""
    statement = last_statement(text)
    clean = cleaned(statement.text)
    assertion = asserted(clean, context, lenient=lenient)
    if not assertion.text:
        return Extraction(None, assertion.reason, "final_statement")
    found = _located(text, statement, clean[assertion.start : assertion.end])
    return Extraction(found._replace(text=assertion.text), "", "final_statement")


def _located(text: str, statement: Statement, said: str) -> Found:
    """Where the value stands in the text; the whole statement where Markdown or a note is inside it."""
    at = text.rfind(said, statement.start, statement.end)
    return Found(said, at, at + len(said)) if at >= 0 else Found(said, statement.start, statement.end)


def sentence_answer(text: str, found: Found, context: Given, *, lenient: bool) -> Extraction:
    """What the sentence behind a marker, or in an answer tag, asserts where it is no plain value."""
    statement = cleaned(text[found.start : found.end] if found.stop else found.text)
    assertion = asserted(statement, context, lenient=lenient)
    if not assertion.text:
        return Extraction(None, assertion.reason, "final_line")
    return Extraction(found._replace(text=assertion.text), "", "final_line")
