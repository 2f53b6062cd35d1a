"""Answer markers: `Answer:`, `the final answer is`, `答案：`, `#### 42` (contract, appendix).

A marker is a word for "answer" in any case, Markdown ignored, followed by `:`, a word for "is", or both; or `####`. It
may stand mid-line; the last one of a text counts. Its answer is the rest of that sentence on that line, without
Markdown, the final stop, and a bracketed remark of words. The words of each language are a table. Not covered: markers
that are followed neither by `:` nor by a word of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.verifiers.extract.found import Found, words
from assay.verifiers.extract.markdown import LONGEST, strip_markdown
from assay.verifiers.extract.sentences import STOPS, sentence_end

# Word for "answer" -> words for "is" that may follow it. All lower case.
WORDS: dict[str, tuple[str, ...]] = {
    "answer": ("is",),
    "antwort": ("ist", "lautet"),
    "lösung": ("ist", "lautet"),
    "réponse": ("est",),
    "reponse": ("est",),
    "respuesta": ("es",),
    "risposta": ("è", "e'"),
    "resposta": ("é",),
    "antwoord": ("is",),
    "svar": ("är", "er"),
    "svaret": ("är", "er"),
    "vastaus": ("on",),
    "odpowiedź": ("to", "jest"),
    "odpověď": ("je",),
    "cevap": (),
    "ответ": ("есть", "равен", "это"),
    "відповідь": (),
    "đáp án": ("là",),
    "câu trả lời": ("là",),
    "jawaban": ("adalah",),
    "答案": ("为", "是", "為", "应为", "应该是"),
    "答え": ("は",),
    "答": (),
    "정답": ("은", "는"),
    "답": ("은", "는"),
    "الجواب": ("هو",),
    "الإجابة": ("هي",),
    "उत्तर": ("है",),
    "คำตอบ": ("คือ",),
}
HASH = "####"

# The marks that close emphasis around the marker itself: `**Answer:** 5`.
_LOOSE_LEAD = re.compile(r"\A[*_`]{1,3}(?:\s+|(?=[$\\]))")
_SPACE = r"[\s*_`~]"
_REMARK_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[а-яё]{2,}", re.I)
# Words that are mathematics, so that a bracket holding them is not a remark.
_MATH_WORDS = words(
    """
    sqrt cbrt pi sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh exp ln log lg
    inf infty infinity theta alpha beta gamma lambda mu phi omega abs floor ceil max min gcd lcm mod deg
    """
)
CHANGING_REMARK = re.compile(
    r"\b(?:or|not|maybe|perhaps|possibly|but|unless|if|kidding|joking|wait|actually|rather|wrong|incorrect|guess|approx"
    r"|approximately|about|roughly|base|mod|power|times|squared|cubed|factorial|thousands?|millions?|billions?|hundreds?"
    r"|dozens?|percent|half|double|minus|negative|plus|off|except|instead|sorry|correction|unsure|least|most|tens)\b"
    r"|或|不|≈|~",
    re.I,
)
"""What a bracketed remark holds that can change the answer before it: the remark is then part of the answer."""
_BRACKETS = {")": "(", "]": "[", "）": "（", "】": "【"}


# A bracket behind one of these is mathematics.
_SIZED = re.compile(r"\\(?:left|[bB]igg?l?)\Z")
_FINAL = "." + STOPS[3:]


class Marker(NamedTuple):
    """A marker: from the word for "answer" to the end of what announces the answer."""

    start: int
    end: int


def _pattern(word: str) -> re.Pattern[str]:
    """Return the pattern that must follow `word` to make it a marker, anchored after the word."""
    verbs = "|".join(re.escape(verb) for verb in sorted(WORDS[word], key=len, reverse=True))
    wide = ord(word[-1]) > 0x2E80
    after = "" if wide else rf"(?![^\W_]){_SPACE}{{0,8}}"
    gap = rf"{_SPACE}{{0,8}}"
    if not verbs:
        return re.compile(rf"{gap}[:：]")
    boundary = "" if wide else r"(?![^\W_])"
    return re.compile(rf"{after}{gap}(?:[:：]|(?:{verbs}){boundary}(?:{gap}[:：])?)", re.I)


_PATTERNS = {word: _pattern(word) for word in WORDS}
_ALL_WORDS = (HASH, *WORDS)
_ASCII_WORDS = tuple(word for word in _ALL_WORDS if word.isascii())
_OTHER_WORDS = tuple(word for word in _ALL_WORDS if not word.isascii())


def last_marker(text: str) -> Marker | None:
    """Return the last marker of `text`."""
    lower = _lower(text)
    last = _last_of(text, lower, _ASCII_WORDS, None)
    # Only text after the last marker found so far can hold a later one.
    if not text.isascii() and not text[0 if last is None else last.start :].isascii():
        last = _last_of(text, lower, _OTHER_WORDS, last)
    return last


def _last_of(text: str, lower: str, words: tuple[str, ...], last: Marker | None) -> Marker | None:
    """Return the last marker with one of the words, if it is later than `last`, else `last`."""
    reach = 0 if last is None else last.start
    for word in words:
        end = len(text)
        while (at := lower.rfind(word, reach, end)) >= 0:
            marker = _marker_at(text, word, at)
            if marker is not None:
                last, reach = marker, at
                break
            end = at + len(word) - 1
    return last


def iter_markers(text: str) -> Iterator[Marker]:
    """Yield all markers of `text`, the last one first."""
    lower = _lower(text)
    words = _ASCII_WORDS if text.isascii() else _ALL_WORDS
    present = [(word, at) for word in words if (at := lower.rfind(word)) >= 0]
    while present:
        index = max(range(len(present)), key=lambda i: present[i][1])
        word, at = present[index]
        marker = _marker_at(text, word, at)
        if marker is not None:
            yield marker
        following = lower.rfind(word, 0, at)
        if following >= 0:
            present[index] = (word, following)
        else:
            del present[index]


def _lower(text: str) -> str:
    """Return `text` in lower case, with its length unchanged."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _marker_at(text: str, word: str, at: int) -> Marker | None:
    if word == HASH:
        if text[at - 1 : at] == "#" or text[at + 4 : at + 5] == "#":
            return None
        return Marker(at, at + 4)
    if at and ord(word[0]) < 0x2E80 and (text[at - 1].isalnum() or text[at - 1] == "\\"):
        return None
    match = _PATTERNS[word].match(text, at + len(word))
    return Marker(at, match.end()) if match else None


def marker_answer(text: str, marker: Marker) -> Found:
    """Return the answer that `marker` announces; its text is empty if nothing follows."""
    newline = text.find("\n", marker.end)
    line_end = len(text) if newline < 0 else newline
    end = sentence_end(text, marker.end, line_end) if line_end - marker.end <= LONGEST else line_end
    stop = text[end : end + 1] if end < line_end else ""
    clean = strip_markdown(text[marker.end : end])
    clean = _LOOSE_LEAD.sub("", clean) if clean[:1] in "*_`" else clean
    # The marker may stand in a group: `\text{The answer is } 42`.
    clean = clean.rstrip("*_`").removeprefix("}").lstrip()
    clean = strip_remark(_drop_stops(clean))
    return Found(_drop_stops(clean), marker.end, end, stop)


def _drop_stops(text: str) -> str:
    """Return `text` without final full stops (an ellipsis is kept)."""
    end = len(text)
    while end and text[end - 1] in _FINAL and not text.startswith("..", max(0, end - 2), end):
        end -= 1
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def strip_remark(text: str) -> str:
    """Return `text` without a bracketed remark of words at its end, if something precedes it."""
    text = text.rstrip()
    opening = _BRACKETS.get(text[-1:])
    if opening is None or len(text) > LONGEST:
        return text
    start = _opening(text, opening)
    before = text[:start].rstrip()
    if start <= 0 or not before or _SIZED.search(before) or not _is_remark(text[start + 1 : -1]):
        return text
    return before


def _opening(text: str, opening: str) -> int:
    closing, depth = text[-1], 0
    for match in re.finditer(rf"[{re.escape(opening)}{re.escape(closing)}]", text[::-1]):
        depth += 1 if match.group() == closing else -1
        if not depth:
            return len(text) - 1 - match.start()
    return -1


def _is_remark(content: str) -> bool:
    if CHANGING_REMARK.search(content) or "\\begin{" in content:
        return False
    words = _REMARK_WORD.findall(content)
    return any(word.casefold() not in _MATH_WORDS for word in words)


def last_marker_answer(text: str) -> Found | None:
    """Return the answer of the last marker, or None if there is no marker."""
    marker = last_marker(text)
    return None if marker is None else marker_answer(text, marker)
