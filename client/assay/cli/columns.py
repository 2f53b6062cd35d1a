"""Classify column names: fields of an item, probable misspellings of one, and the row's own columns.

A near miss of a field's name (case, plural, punctuation, a letter off) is refused: a misspelt `completion` must not be
scored as a missing one. A synonym from another tool (`response`, `gold`) is refused only if the field it stands for is
absent. Everything else passes through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from assay.contract.item import ITEM_FIELDS

OWN = frozenset({"result", "expected", "kind", "why", "source"})
"""Columns that this project's own files have."""

ALIASES = {
    "completion": (
        "response",
        "output",
        "generation",
        "generated_text",
        "model_output",
        "prediction",
        "text",
    ),
    "reference": ("gold", "answer", "ground_truth", "label", "target", "solution", "expected_answer"),
    "verifier": ("grader", "scorer", "reward_fn"),
    "prompt": ("question", "input", "messages"),
}
"""Synonyms in other tools. `prompt` is optional, so its synonyms are accepted."""
REQUIRED = ("verifier", "completion", "reference")

_FEW, _LONG = 5, 9
"""In shorter names only adjacent letters may be swapped (`stop` is not `step`); from `_LONG` letters on, two may
differ.
"""


def misnamed(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the first misnamed column and the field it should be, or None."""
    names = list(names)
    for name in names:
        if name not in ITEM_FIELDS and name not in OWN:
            field = near_miss(name)
            if field is not None:
                return name, field
    for field in REQUIRED:
        if field not in names:
            alias = next((name for name in names if name in ALIASES[field]), None)
            if alias is not None:
                return alias, field
    return None


@lru_cache(maxsize=4096)
def near_miss(name: str) -> str | None:
    """Return the field that `name` is a near miss of, or None."""
    if len(name) > max(map(len, ITEM_FIELDS)) + 2:
        return None
    plain = _plain(name)
    for field in ITEM_FIELDS:
        target = _plain(field)
        if _singular(plain) == _singular(target):
            return field
    for field in ITEM_FIELDS:
        target = _plain(field)
        room = 1 if len(target) < _LONG else 2
        short = len(target) < _FEW
        if within(plain, target, room) and (not short or sorted(plain) == sorted(target)):
            return field
    return None


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _singular(name: str) -> str:
    return name.removesuffix("s") if len(name) > 2 else name


def within(left: str, right: str, room: int) -> bool:
    """Return whether `left` and `right` differ by at most `room` letters (missing, surplus, wrong or swapped with a
    neighbour).
    """
    if abs(len(left) - len(right)) > room:
        return False
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1] <= room
