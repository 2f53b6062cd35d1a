"""Parse dates as people and models write them, if only one date can be meant.

Accepted: ISO 8601 (`2031-02-07`, `20310207`, with or without a time), year first with `/` or `.`, `7.2.2031` (day
first, as everywhere dots are used), `7 February 2031`, `Feb 7th, 2031`, and `13/2/2031` if only one order is a date.
`3/2/2031` is ambiguous and rejected.
"""

from __future__ import annotations

import re
from datetime import date, datetime

_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.? (?:of )?([a-z]{3,9})\.?,? (\d{4})")
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
LONGEST = 40


def read_date(text: str) -> date | None:
    """Return the date that a text denotes, or None if there is none or it is ambiguous."""
    text = " ".join(text.split()).lower()
    if not text or len(text) > LONGEST or not text.isascii():
        return None
    return _numeric(text) or _worded(text) or _timed(text)


def _numeric(text: str) -> date | None:
    if found := _YEAR_FIRST.fullmatch(text):
        return _date(found[1], found[3], found[4])
    if found := _COMPACT.fullmatch(text):
        return _date(*found.groups())
    if found := _YEAR_LAST.fullmatch(text):
        day_first, month_first = _date(found[4], found[3], found[1]), _date(found[4], found[1], found[3])
        if found[2] == "." or day_first == month_first or month_first is None:
            return day_first
        return month_first if day_first is None else None
    return None


def _worded(text: str) -> date | None:
    if found := _DAY_MONTH.fullmatch(text):
        return _date(found[3], _MONTHS.get(found[2], 0), found[1])
    if found := _MONTH_DAY.fullmatch(text):
        return _date(found[3], _MONTHS.get(found[1], 0), found[2])
    return None


def _timed(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text.upper()).date()
    except ValueError:
        return None


def _date(year: str, month: str | int, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
