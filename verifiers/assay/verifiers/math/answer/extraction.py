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
    answer_tags,
    find_boxes,
    last_marker,
    last_sentence,
    marker_answer,
    strip_markdown,
)
from assay.verifiers.extract.found import words
from assay.verifiers.math.answer.prose import last_run

SPAM = 5
"""More different boxes, tags or markers than this is flagged as `answer_spam`."""
_LOOSE = r"[\s$\\()\[\],.*]*"
_OR_BETWEEN = re.compile(rf"{_LOOSE}(?:or|OR|或者?|oder|ou){_LOOSE}")
_DELIMITER = re.compile(r"\\[()\[\]]|(?<!\\)\$\$?")
_CLOSERS = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$"}
_POSING = words(
    """
    find compute simplify calculate evaluate determine solve prove show express let suppose assume
    consider given if must need needs want wants should could would might may try trying unable stuck
    cannot can't unknown unsure guess maybe perhaps possibly probably either neither not isn't aren't
    doesn't don't nor whether unclear impossible
    """
)
# A number after one of these is a label, not a value.
_LABELS = words("problem question exercise step part page case figure equation chapter section theorem lemma example")
# GSM8K's calculator notes: `9*2 = <<9*2=18>>18`.
_CALCULATOR = re.compile(r"<<[^<>\n]{0,80}>>")
# A remark that takes an answer back: `42 (or 43)`.
_HEDGING_REMARK = re.compile(r"\b(?:or|not|maybe|perhaps|possibly|but|unless|if)\b|或|不", re.I)
# Directly before a number, these make it a bound or another number.
_BOUNDING = words(
    """
    least most than about approximately roughly around nearly almost under over between exceed exceeds below above
    except minus negative without excluding
    """
)
# The end of what stands before a value, where it makes another number or a denial of it.
_ALTERED = re.compile(
    r"""\b(?:
        (?:roots?|square|cube|reciprocal|inverse|opposite|negation|negative|logarithm|log|ln|sine?|cos|cosine|tan
          |tangent|factorial|multiple|divisor|factor|half|third|quarter|percent|powers?|double|complement|one)\s+of
       |half|twice|thrice|double|doubled|triple|times|log|ln|sin|cos|tan|up\s+to|(?:any|every)thing\s+but|all\s+but
       |no\s+longer|hardly|scarcely|barely|never|differs?\s+from|different\s+from|far\s+from|mod|modulo|plus
       |(?:less|more|fewer|other|rather|greater|smaller)\s+than|instead\s+of|from|bounded\s+by|power
    )\s+(?:the\s+|exactly\s+|be\s+|equal\s+to\s+)*[$\\(\[{\s]*$""",
    re.X,
)
# Anywhere in the clause before it.
_DENIED = re.compile(
    r"\b(?:never|won't|wouldn't|shouldn't|wasn't|weren't|hasn't|no longer|hardly|scarcely|anything but|differs? from"
    r"|(?:false|wrong|incorrect|untrue|mistaken|mistake|error)\s+(?:that|to|is|answer)|nothing|no way)\b"
)
# Before a marker, in its clause.
_UNANNOUNCED = re.compile(
    r"\b(?:false|wrong|incorrect|untrue|mistaken|mistake|error|not true|not the case|not correct|not right)\b"
    r"[^.!?\n]{0,60}\b(?:that|say|saying|think|claim|conclude|believe)\b"
    r"|\b(?:wrong|incorrect|false|untrue)\s*$|\b(?:doubt|(?:don't|do not|cannot|can't) (?:think|believe|say|claim))\b"
)
_WORD = re.compile(r"[A-Za-z']+")


class Extraction(NamedTuple):
    """An answer, or why there is none."""

    found: Found | None
    reason: str = ""
    policy: str = ""
    flags: tuple[str, ...] = ()


def extract(text: str, policy: str) -> Extraction:
    """The answer in `text` (thinking left out) under `policy`. Never raises."""
    if policy != "final_line" and ("\\boxed" in text or "\\fbox" in text):
        boxed = _only_box(text) or _boxed(text, find_boxes(text))
        if boxed is not None or policy == "boxed_last":
            return boxed or Extraction(None, "no_answer", "boxed_last")
    elif policy == "boxed_last":
        return Extraction(None, "no_answer", policy)
    lined = _final_line(text)
    if lined is not None or policy == "final_line":
        return lined or Extraction(None, "no_answer", "final_line")
    return _final_statement(text)


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
    if "<answer>" in text:
        tags = answer_tags(text)
        if tags.unclosed >= 0:
            return Extraction(None, "no_answer", "final_line", ("unterminated",))
        if tags.closed:
            flags = _spam([tag.text for tag in tags.closed])
            return Extraction(_unboxed(tags.closed[-1]), "", "final_line", flags)
    marker = last_marker(text)
    if marker is None:
        return None
    found = marker_answer(text, marker)
    if not found.text:
        return None
    clause = re.split(r"[.!?,;:\n]", text[max(0, marker.start - 200) : marker.start])[-1]
    if _UNANNOUNCED.search(clause.replace("’", "'").lower()):
        return Extraction(found, "hedged", "final_line")
    if found.stop in "?？" and found.stop:
        return Extraction(found, "hedged", "final_line")
    said = text[found.start : found.end]
    if _HEDGING_REMARK.search(said, said.rfind(found.text) + len(found.text)):
        return Extraction(found, "hedged", "final_line")
    return Extraction(_unboxed(found), "", "final_line")


def _unboxed(found: Found) -> Found:
    """`<answer>\\boxed{42}</answer>` under `final_line`: the box says what the answer is."""
    inner = find_boxes(found.text)
    if inner.complete and inner.unclosed < 0:
        content = inner.complete[-1].content(found.text)
        return found._replace(text=content) if content.strip() else found
    return found


def _final_statement(text: str) -> Extraction:
    """The last mathematics of the last sentence."""
    policy = "final_statement"
    start, end = last_sentence(text)
    sentence = text[start:end]
    spoken = sentence.rstrip("*_`\"') \t\r\n")
    if not spoken:
        return Extraction(None, "no_answer", policy)
    if spoken[-1] in "?？":
        return Extraction(None, "hedged", policy)
    found = _last_span(sentence)
    if found is None:
        clean = _CALCULATOR.sub("", strip_markdown(sentence))
        run = last_run(clean)
        if run is None:
            return Extraction(None, "no_answer", policy)
        at = sentence.rfind(run.text)
        found = (
            Found(run.text, max(at, 0), max(at, 0) + len(run.text)) if at >= 0 else Found(run.text, 0, len(sentence))
        )
        before, after = clean[: run.start], clean[run.end :]
    else:
        before, after = sentence[: found.start], sentence[found.end :]
    if _is_posed(before) or _takes_back(after):
        return Extraction(None, "hedged", policy)
    return Extraction(found._replace(start=found.start + start, end=found.end + start), "", policy)


def _last_span(sentence: str) -> Found | None:
    """The last `$...$`, `\\(...\\)` or `\\[...\\]`."""
    if "$" not in sentence and "\\(" not in sentence and "\\[" not in sentence:
        return None
    last: tuple[int, int] | None = None
    opened: re.Match[str] | None = None
    for match in _DELIMITER.finditer(sentence):
        sign = match.group()
        if opened is not None and sign == _CLOSERS[opened.group()] and _closes(sentence, opened, match):
            last, opened = (opened.end(), match.start()), None
        elif sign in _CLOSERS and (opened is None or opened.group() == "$"):
            opened = match
    if last is None:
        return None
    content = sentence[last[0] : last[1]]
    return Found(content, *last) if content.strip() and not _is_prose(content) else None


def _closes(sentence: str, opened: re.Match[str], closing: re.Match[str]) -> bool:
    """Single dollars are mathematics, not currency: on one line, spaced alike, no digit behind the second, no
    sign before it."""
    if opened.group() != "$":
        return True
    if closing.start() == opened.end() or sentence[closing.end() : closing.end() + 1].isdigit():
        return False
    if sentence[closing.start() - 1] in "=+-*/":
        return False
    spaced = sentence[opened.end()].isspace(), sentence[closing.start() - 1].isspace()
    return spaced[0] is spaced[1] and "\n" not in sentence[opened.end() : closing.start()]


def _is_prose(content: str) -> bool:
    """`$5 and pays $`: text between two currency signs."""
    plain = [w for w in _WORD.findall(re.sub(r"\\[A-Za-z]+(?:\s*\{[^{}]*\})?", " ", content)) if len(w) > 3]
    return len(plain) > 1 and content[:1].isdigit()


def _is_posed(before: str) -> bool:
    """Whether the sentence up to the answer poses a task, asks, doubts or denies."""
    before = before[-5_000:].replace("’", "'")
    clause = re.split(r"[,;:，；：\n]", before)[-1][-500:]
    if _ALTERED.search(clause[-80:].lower() + " ") or _DENIED.search(clause.lower()):
        return True
    spoken = [word.lower() for word in _WORD.findall(clause)]
    said = set(spoken)
    adjacent = clause.rstrip()[-1:].isalpha()
    if spoken and adjacent and (spoken[-1] in _LABELS or spoken[-1] in _BOUNDING):
        return True
    return bool(said & _POSING) or any(sign in clause for sign in ("不是", "或者", "求", "不能", "≠"))


def _takes_back(after: str) -> bool:
    said = {word.lower() for word in _WORD.findall(after[:500])}
    return bool(said & {"not", "isn't", "wrong", "incorrect", "impossible", "false", "maybe", "perhaps", "or"})
