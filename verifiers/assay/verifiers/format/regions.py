"""The text that constraints look at, with derived views that several constraints share, each computed once.

Paragraphs are split at blank lines; for words and sentences see `words` and `sentences`. Words ignore case: `folded` is
the text case-folded, composed and without invisible characters (`plain`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from assay.verifiers.candidate import Candidate, thinking_end
from assay.verifiers.format import plain, sentences, words

_BLANK_LINES = re.compile(r"\n[^\S\n]*+\n\s*+")


@dataclass(frozen=True)
class Region:
    """A region of a completion."""

    text: str

    @cached_property
    def trimmed(self) -> str:
        """The text without outer white space."""
        return self.text.strip()

    @cached_property
    def folded(self) -> str:
        """The text, case-folded."""
        return plain.folded(self.text)

    @cached_property
    def blank(self) -> bool:
        """Whether the text has no visible character."""
        return plain.is_blank(self.text)

    @cached_property
    def words(self) -> list[str]:
        """Pieces between white space that hold a letter or digit."""
        return [word for word in plain.visible(self.text).split() if any(map(str.isalnum, word))]

    @cached_property
    def skeleton(self) -> str:
        """The text folded in NFKC, with look-alike letters of other scripts as Latin ones."""
        return plain.skeleton(self.text)

    @cached_property
    def written_words(self) -> list[str]:
        """Words as written, without punctuation at their ends; tokens of only punctuation are left out."""
        return words.bare_words(self.text)

    @cached_property
    def bare_words(self) -> list[str]:
        """`written_words`, case-folded."""
        return [word.casefold() for word in self.written_words]

    @cached_property
    def lines(self) -> list[str]:
        """Lines, without line ends."""
        return self.text.split("\n")

    @cached_property
    def paragraphs(self) -> list[str]:
        """Paragraphs that are not blank, trimmed."""
        return [trimmed for part in _BLANK_LINES.split(plain.visible(self.text)) if (trimmed := part.strip())]

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences that hold a letter or digit, with their final punctuation."""
        return list(sentences.sentences(self.text))

    @cached_property
    def letters(self) -> list[str]:
        """The letters that occur, once each."""
        return [char for char in self.chars if char.isalpha()]

    @cached_property
    def chars(self) -> frozenset[str]:
        """The characters that occur."""
        return frozenset(self.text)


@dataclass(frozen=True)
class Regions:
    """The thinking and answer regions of a completion. `reasoning_content` of the message is thinking too."""

    candidate: Candidate

    @cached_property
    def whole(self) -> Region:
        """Thinking and answer, including the think tags."""
        return Region(self._thought + self.candidate.text)

    @cached_property
    def answer(self) -> Region | None:
        """The text after the thinking, or None if it never closed."""
        answer = self.candidate.answer
        return None if answer is None else Region(answer.text)

    @cached_property
    def think(self) -> Region:
        """The thinking, without its tags."""
        text = self.candidate.text
        end = thinking_end(text, prefill=self.candidate.prefill)
        inside = text if end is None else text[:end].removesuffix("</think>")
        return Region(self._thought + inside.lstrip().removeprefix("<think>"))

    @property
    def _thought(self) -> str:
        index = self.candidate.message_index
        return (self.candidate.messages[index].reasoning_content or "") if index >= 0 else ""

    def tagged(self, prefilled: bool) -> str:
        """Return the text with the think tags that the template or the server removed."""
        if self._thought:
            return f"<think>{self._thought}</think>{self.candidate.text}"
        prefill = self.candidate.prefill
        opened = prefilled or prefill.rfind("<think>") > prefill.rfind("</think>")
        return "<think>" * opened + self.candidate.text
