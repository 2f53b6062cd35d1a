"""Constraints on the layout of a reply: lists, tables, templates, questions. Further kinds of IFBench and IF-RLVR."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from assay.verifiers.format.plain import unaccented, visible
from assay.verifiers.format.regions import Region
from assay.verifiers.format.sentences import sentences
from assay.verifiers.format.words import EDGES, bare_words

_HEADING = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
_ITALIC = re.compile(r"\s*<(i|em)>\s*([^<\s][^<]*)</\1>", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_OPTION = re.compile(r"\s*[A-Za-z][.):]\s*\S")
_SPECIAL = re.compile(r"[^\w\s]")


def italic_thesis(rule: Any, text: Region) -> bool:
    """Each section, begun by a Markdown heading, or the text if there is none, starts with text in HTML italics and
    goes on after it.
    """
    parts = _HEADING.split(text.text)
    sections = [part for part in (parts if len(parts) == 1 else parts[1:]) if part.strip()]
    return bool(sections) and all(map(_opens_in_italics, sections))


def _opens_in_italics(section: str) -> bool:
    found = _ITALIC.match(section)
    return found is not None and bool(bare_words(section[found.end() :]))


def sentences_then_bullets(rule: Any, text: Region) -> bool:
    """At least two sentences that end in a full stop, then at least two bullets with `*`, then nothing."""
    lines = [line.strip() for line in visible(text.text).split("\n") if line.strip()]
    first = next((at for at, line in enumerate(lines) if _bullet(line)), len(lines))
    before = [sentence.rstrip(" \"'”’)") for sentence in sentences("\n".join(lines[:first]))]
    stops = sum(sentence.endswith(".") for sentence in before)
    return stops >= 2 and len(lines) - first >= 2 and all(map(_bullet, lines[first:]))


def _bullet(line: str) -> bool:
    return line.startswith("*") and line[1:2] != "*" and bool(line[1:].strip())


def composition(rule: Any, text: Region) -> bool:
    """Paragraphs of a given number of sentences of a given number of words."""
    parts = [part.strip() for part in text.trimmed.split(rule.separator)]
    parts = parts[int(not parts[0]) : len(parts) - int(len(parts) > 1 and not parts[-1])]
    return len(parts) == rule.paragraphs and all(_composed(part, rule) for part in parts)


def _composed(paragraph: str, rule: Any) -> bool:
    found = list(sentences(paragraph))
    return len(found) == rule.sentences and all(len(bare_words(sentence)) == rule.words for sentence in found)


def item_list(rule: Any, text: Region) -> bool:
    """The reply is the given items in their order."""
    made = text.trimmed.rstrip(".").split(rule.separator)
    return [_key(item) for item in made] == [_key(item) for item in rule.items]


def _key(item: str) -> str:
    return unaccented(item.casefold()).strip(EDGES + " \t\r\n")


def sorted_lines(rule: Any, text: Region) -> bool:
    """Lines in alphabetical order."""
    keys = [key for line in visible(text.text).split("\n") if (key := re.sub(r"^\d+[.)]\s*", "", _key(line)))]
    if rule.start is not None:
        sought = _key(rule.start)
        keys = keys[next((at for at, key in enumerate(keys) if sought in key), len(keys)) :]
    ordered = all(one <= other if rule.order == "ascending" else one >= other for one, other in pairwise(keys))
    return len(keys) >= rule.min and len(set(keys)) == len(keys) and ordered


def date_list(rule: Any, text: Region) -> bool:
    """A list of dates that exist."""
    return all(_is_date(item.strip(), rule) for item in text.trimmed.rstrip(".").split(rule.separator))


def _is_date(item: str, rule: Any) -> bool:
    found = _DATE.fullmatch(item)
    if found is None or not rule.first <= int(found[1]) <= rule.last:
        return False
    try:
        datetime.date(*map(int, found.groups()))
    except ValueError:
        return False
    return True


def multiple_choice(rule: Any, text: Region) -> bool:
    """Labelled questions, each followed by its options."""
    label = re.compile(rf"^\W*{re.escape(rule.label)}\s*\d+\W*", re.MULTILINE | re.IGNORECASE)
    starts = [found.span() for found in label.finditer(text.trimmed)]
    if len(starts) != rule.questions or starts[0][0] != 0:
        return False
    ends = [start for start, _ in starts[1:]] + [len(text.trimmed)]
    parts = [text.trimmed[start:end].split("\n") for (_, start), end in zip(starts, ends, strict=True)]
    lengths = [_question_length(lines, rule.options) for lines in parts]
    return None not in lengths and (not rule.growing or all(a < b for a, b in pairwise(filter(None, lengths))))


def _question_length(lines: Sequence[str], options: int) -> int | None:
    """Return the length of a question's text, or None without text or with another number of options."""
    first = next((at for at, line in enumerate(lines) if at and _OPTION.match(line)), len(lines))
    asked = " ".join(line.strip() for line in lines[:first]).strip()
    found = sum(_OPTION.match(line) is not None for line in lines[first:])
    return len(asked) if asked and found == options else None


def csv_table(rule: Any, text: Region) -> bool:
    """A table of the given columns and number of rows."""
    try:
        rows = list(csv.reader(io.StringIO(text.trimmed), delimiter=rule.delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        return False
    header = [name.strip() for name in rows[0]] if rows else []
    whole = header == rule.columns and len(rows) == rule.rows + 1 and all(len(row) == len(header) for row in rows)
    return whole and (rule.quoted is None or _QUOTED[rule.quoted](text.trimmed, rule.delimiter))


def _all_quoted(text: str, delimiter: str) -> bool:
    field = r' *"(?:[^"]|"")*+"[ \r]*'
    line = re.compile(rf"{field}(?:{re.escape(delimiter)}{field})*+")
    return all(line.fullmatch(one) for one in text.split("\n"))


def _special_quoted(text: str, delimiter: str) -> bool:
    quoted = re.findall(r'"((?:[^"\n]|"")*+)"', text.partition("\n")[2])
    return any(_SPECIAL.search(field) for field in quoted)


_QUOTED: Mapping[str, Callable[[str, str], bool]] = {"all": _all_quoted, "special": _special_quoted}


def template(rule: Any, text: Region) -> bool:
    """Labels in their order, each once, with text after each."""
    shown = visible(text.trimmed)
    places = [shown.find(label) for label in rule.labels]
    if places[0] != 0 or places != sorted(set(places)) or any(shown.count(label) != 1 for label in rule.labels):
        return False
    ends = [*places[1:], len(shown)]
    filled = (shown[at + len(label) : end] for at, label, end in zip(places, rule.labels, ends, strict=True))
    return all(map(bare_words, filled))


CHECKS: Mapping[str, Callable[[Any, Region], bool]] = {
    "composition": composition,
    "csv_table": csv_table,
    "date_list": date_list,
    "italic_thesis": italic_thesis,
    "item_list": item_list,
    "multiple_choice": multiple_choice,
    "sentences_then_bullets": sentences_then_bullets,
    "sorted_lines": sorted_lines,
    "template": template,
}
"""Check by kind."""
