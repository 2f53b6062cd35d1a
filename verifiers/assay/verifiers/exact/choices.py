"""Multiple choice: an answer is a label, or the full text of one option, and nothing else.

A label counts in any case, bare, in brackets, or followed by `.` `)` `:` and the text of that option. Several labels,
`or`, a label out of range, or a text that two options share is no answer. Where the text holds a box, the box is read.
With `multi`, labels are joined by `,` `and` `&`. Not covered: labels beyond Z.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from assay.verifiers.exact.unicode import nfkc
from assay.verifiers.extract import strip_markdown
from assay.verifiers.extract.boxes import last_box

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 100_000
"""Texts longer than this (code points) match no option."""
_WRAPPER = re.compile(r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_JOINT = re.compile(r"\s*(?:,\s*(?:and\b|&)?|\band\b|&)\s*", re.IGNORECASE)
_LABEL = re.compile(
    r"(?P<open>[(\[{]?)\s*(?P<label>[A-Za-z]|\d{1,4})\s*(?P<close>[)\]}]?)(?P<mark>[.:]?)(?P<rest>.*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Choices:
    """The options of a row. Without options, any letter (or number) is a label and no text matches."""

    options: tuple[str, ...] | None
    decimal: bool = False
    multi: bool = False

    @cached_property
    def labels(self) -> tuple[str, ...] | None:
        """The labels in order."""
        if self.options is None:
            return None if self.decimal else tuple(LETTERS)
        if self.decimal:
            return tuple(str(number) for number in range(1, len(self.options) + 1))
        return tuple(LETTERS[: len(self.options)])

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """Cleaned option text -> labels of the options with that text."""
        texts: dict[str, list[str]] = {}
        for label, option in zip(self.labels or (), self.options or (), strict=False):
            texts.setdefault(clean(option).casefold(), []).append(label)
        return texts

    @cached_property
    def _exact_texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        for label, option in zip(self.labels or (), self.options or (), strict=False):
            texts.setdefault(clean(option), []).append(label)
        return texts

    def read(self, text: str) -> frozenset[str] | None:
        """Return the labels that `text` names, or None."""
        if len(text) > LONGEST:
            return None
        box = last_box(text)
        text = clean(text if box is None else text[box.inner_start : box.inner_end])
        one = self._one(text)
        if one is not None:
            return frozenset((one,))
        if not self.multi:
            return None
        named = [self._one(clean(part)) for part in _JOINT.split(text)]
        labels = frozenset(label for label in named if label is not None)
        return labels if len(named) > 1 and None not in named else None

    def _one(self, text: str) -> str | None:
        label = self._label(text)
        return label if label is not None else self._by_text(text)

    def _label(self, text: str) -> str | None:
        match = _LABEL.fullmatch(text)
        if match is None:
            return None
        label = match["label"] if self.decimal else match["label"].upper()
        if not self._known(label):
            return None
        opened, closed, rest = match["open"], match["close"], match["rest"].strip()
        if closed != (_BRACKETS[opened] if opened else closed and ")"):
            return None
        if not rest:
            return label
        separated = match["mark"] or closed
        return label if separated and label in self._labels_of(rest) else None

    def _known(self, label: str) -> bool:
        if self.labels is None:
            return label.isdecimal() and not label.startswith("0")
        return label in self.labels

    def _labels_of(self, text: str) -> list[str]:
        text = clean(text)
        return self._exact_texts.get(text) or self._texts.get(text.casefold()) or []

    def _by_text(self, text: str) -> str | None:
        labels = self._labels_of(text)
        return labels[0] if len(labels) == 1 else None


def clean(text: str) -> str:
    """Return `text` in NFKC without Markdown, `\\text{}`, math delimiters around the whole, and a final full stop."""
    text = strip_markdown(nfkc(text))
    text = _WRAPPER.sub(r"\1", text).strip()
    if len(text) > 2 and text[0] == text[-1] == "$":
        text = text[1:-1]
    text = " ".join(text.split())
    return text[:-1].rstrip() if text.endswith((".", "。")) else text
