"""Constraints of `format` on wording and layout: the further kinds of IFBench and of open-instruct's IF-RLVR rows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel
from assay.contract.references.instructions import Count, Positive, Rel, Word

Words = Annotated[list[Word], Field(min_length=1)]


class Layout(ContractModel):
    """A constraint without parameters, defined by its kind (docs/verifiers)."""

    type: Literal[
        "alternating_syllables",
        "equal_sentence_lengths",
        "hyphenated_sentences",
        "italic_thesis",
        "no_consecutive_initials",
        "quotes_explained",
        "same_first_last_word",
        "sentences_then_bullets",
    ]


class LetterTally(ContractModel):
    """The number of letters, of words in lower case, or of lines that are not blank."""

    type: Literal["letter_count", "lowercase_words", "line_count"]
    rel: Rel
    n: Count


class DistinctKeywords(ContractModel):
    """The number of different `words` that occur as whole words, in this case."""

    type: Literal["distinct_keywords"]
    words: Words
    rel: Rel
    n: Count


class Copies(ContractModel):
    """The reply is `text` n times, with `separator` between, ignoring case and white space."""

    type: Literal["copies"]
    text: Word
    n: Positive = 1
    separator: Word = "******"


class ChangedFirstWord(ContractModel):
    """The reply is `text` with another first word."""

    type: Literal["changed_first_word"]
    text: Word


class PhraseVariations(ContractModel):
    """`phrase` occurs exactly n times, each time with exactly one inner word replaced by another."""

    type: Literal["phrase_variations"]
    phrase: Word
    n: Positive

    @model_validator(mode="after")
    def _inner_word(self) -> PhraseVariations:
        if len(self.phrase.split()) < 3:
            raise ValueError("a phrase of fewer than three words has no inner word")
        return self


class WrappedWords(ContractModel):
    """All words are in groups of `size` between `open` and `close`."""

    type: Literal["wrapped_words"]
    open: Word
    close: Word
    size: Positive = 1


class SentenceEdges(ContractModel):
    """Every sentence starts with `first`, ends with `last`: whichever are given."""

    type: Literal["sentence_edges"]
    first: Word | None = None
    last: Word | None = None

    @model_validator(mode="after")
    def _something(self) -> SentenceEdges:
        if self.first is None and self.last is None:
            raise ValueError("give first, last, or both")
        return self


class SentenceInitials(ContractModel):
    """There are as many sentences as `letters`, and each starts with its letter."""

    type: Literal["sentence_initials"]
    letters: Word


class Composition(ContractModel):
    """Exactly `paragraphs` paragraphs, each of `sentences` sentences, each of `words` words."""

    type: Literal["composition"]
    paragraphs: Positive
    sentences: Positive
    words: Positive
    separator: Word = "***"


class NthWords(ContractModel):
    """Every n-th word has a letter of the language's script; numbers are left out."""

    type: Literal["nth_words"]
    n: Positive
    code: Word


class NumberSequence(ContractModel):
    """The numbers in the text are exactly these, in this order."""

    type: Literal["number_sequence"]
    numbers: list[int] = Field(min_length=1)


class ItemList(ContractModel):
    """The reply is exactly these items in this order, ignoring case, accents and a final stop."""

    type: Literal["item_list"]
    items: Words
    separator: Word = ","


class SortedLines(ContractModel):
    """At least `min` lines, from the one that holds `start`, in alphabetical order, ignoring case and accents."""

    type: Literal["sorted_lines"]
    order: Literal["ascending", "descending"]
    min: Positive = 2
    start: Word | None = None


class DateList(ContractModel):
    """The reply is a list of dates `YYYY-MM-DD` that exist, in years `first` to `last`."""

    type: Literal["date_list"]
    first: Positive = 1
    last: Positive = 9999
    separator: Word = ","


class MultipleChoice(ContractModel):
    """Exactly `questions` questions, each starting with `label` and a number and followed by `options` options
    (`A)`, `B.` …); with `growing` each question is longer than the one before.
    """

    type: Literal["multiple_choice"]
    questions: Positive
    options: Positive
    label: Word = "Question"
    growing: bool = False


class CsvTable(ContractModel):
    """The reply is CSV: these columns and exactly `rows` rows below the header. `quoted`: every field is in double
    quotes, or at least one that has a special character is.
    """

    type: Literal["csv_table"]
    columns: Words
    rows: Positive
    delimiter: Literal[",", "\t", ";", "|"] = ","
    quoted: Literal["all", "special"] | None = None


class Template(ContractModel):
    """The reply starts with the first of the `labels`, has each once, in this order, and text after each."""

    type: Literal["template"]
    labels: Words


LayoutConstraint = (
    Layout
    | LetterTally
    | DistinctKeywords
    | Copies
    | ChangedFirstWord
    | PhraseVariations
    | WrappedWords
    | SentenceEdges
    | SentenceInitials
    | Composition
    | NthWords
    | NumberSequence
    | ItemList
    | SortedLines
    | DateList
    | MultipleChoice
    | CsvTable
    | Template
)
