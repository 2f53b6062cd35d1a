"""The text that constraints look at, with the views of it that several of them share, each made once.

Words are split at white space, paragraphs at blank lines; a sentence ends at `.!?` before white space or the
end, and at `。！？`. Words ignore case: `folded` is the text case-folded.
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from assay.verifiers.candidate import Candidate, thinking_end

_BLANK_LINES = re.compile(r"\n[^\S\n]*+\n\s*+")
_SENTENCE_END = re.compile(r"[.!?]++[\"'”’)\]]*+(?=\s|\Z)|[。！？]++[”’」』]*+")
_EDGES = string.punctuation + "“”‘’…—–«»„‚。，！？、；：「」『』（）"


@dataclass(frozen=True)
class Judged:
    """A region of a completion."""

    text: str

    @cached_property
    def trimmed(self) -> str:
        """The text without outer white space."""
        return self.text.strip()

    @cached_property
    def folded(self) -> str:
        """The text, case-folded."""
        return self.text.casefold()

    @cached_property
    def words(self) -> list[str]:
        """Split at white space, as they stand."""
        return self.text.split()

    @cached_property
    def bare_words(self) -> list[str]:
        """Words case-folded, without punctuation at their ends; those of punctuation alone are left out."""
        return [bare for word in self.words if (bare := bare_word(word))]

    @cached_property
    def lines(self) -> list[str]:
        """Lines, without their ends."""
        return self.text.split("\n")

    @cached_property
    def paragraphs(self) -> list[str]:
        """Paragraphs that are not blank, trimmed."""
        return [trimmed for part in _BLANK_LINES.split(self.text) if (trimmed := part.strip())]

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences that hold a letter or digit, with their ends."""
        parts, at = [], 0
        for end in _SENTENCE_END.finditer(self.text):
            parts.append(self.text[at : end.end()])
            at = end.end()
        parts.append(self.text[at:])
        return [part.strip() for part in parts if any(map(str.isalnum, part))]

    @cached_property
    def letters(self) -> list[str]:
        """The letters."""
        return [char for char in self.text if char.isalpha()]


def bare_word(word: str) -> str:
    """A word case-folded, without punctuation at its ends."""
    return word.strip(_EDGES).casefold()


def is_word_char(char: str) -> bool:
    """Whether a character continues a word: letters, digits, marks and the underscore."""
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def count_words(text: str, word: str) -> int:
    """How often `word` stands in `text` and not inside a longer word."""
    count, at = 0, text.find(word)
    while at >= 0:
        end = at + len(word)
        inside = (at > 0 and is_word_char(text[at - 1]) and is_word_char(word[0])) or (
            end < len(text) and is_word_char(text[end]) and is_word_char(word[-1])
        )
        count += not inside
        at = text.find(word, at + 1 if inside else end)
    return count


@dataclass(frozen=True)
class Regions:
    """Where a completion thinks and where it answers; `reasoning_content` of the message is thinking too."""

    candidate: Candidate

    @cached_property
    def whole(self) -> Judged:
        """Thinking and answer, with the tags of the text."""
        return Judged(self._thought + self.candidate.text)

    @cached_property
    def answer(self) -> Judged | None:
        """What comes after the thinking; None where it never closed."""
        answer = self.candidate.answer
        return None if answer is None else Judged(answer.text)

    @cached_property
    def think(self) -> Judged:
        """The thinking, without its tags."""
        text = self.candidate.text
        end = thinking_end(text, prefill=self.candidate.prefill)
        inside = text if end is None else text[:end].removesuffix("</think>")
        return Judged(self._thought + inside.lstrip().removeprefix("<think>"))

    @property
    def _thought(self) -> str:
        index = self.candidate.message_index
        return (self.candidate.messages[index].reasoning_content or "") if index >= 0 else ""

    def tagged(self, prefilled: bool) -> str:
        """The text with the think tags that the template, or the server, took away."""
        if self._thought:
            return f"<think>{self._thought}</think>{self.candidate.text}"
        prefill = self.candidate.prefill
        opened = prefilled or prefill.rfind("<think>") > prefill.rfind("</think>")
        return "<think>" * opened + self.candidate.text
