"""Constraints of `format` that come from IFBench and need no downloaded data; one model per set of parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel

Rel = Literal["<", "<=", "==", ">=", ">"]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Word = Annotated[str, Field(min_length=1)]


class Pattern(ContractModel):
    """A constraint on the sequence of words, sentences or lines without parameters, defined by its kind
    (docs/verifiers).
    """

    type: Literal[
        "all_punctuation",
        "alphabet_words",
        "consonant_clusters",
        "emoji_endings",
        "last_first",
        "no_repeated_initial",
        "no_whitespace",
        "one_word_per_line",
        "paragraph_last_first",
        "prime_lengths",
        "stairs",
        "sub_bullets",
        "title_case",
        "alliteration_increment",
    ]


class Tally(ContractModel):
    """The number of distinct words, vowels or conjunctions, numbers, or pronouns."""

    type: Literal["unique_words", "distinct_vowels", "conjunctions", "number_count", "pronouns"]
    rel: Rel
    n: Count


class WordRange(ContractModel):
    """Between `min` and `max` words, both included."""

    type: Literal["word_range"]
    min: Count
    max: Count

    @model_validator(mode="after")
    def _ordered(self) -> WordRange:
        if self.min > self.max:
            raise ValueError("min exceeds max")
        return self


class Palindromes(ContractModel):
    """The number of words of at least `min_length` letters that are palindromes."""

    type: Literal["palindromes"]
    rel: Rel
    n: Count
    min_length: Positive = 5


class WordRepeats(ContractModel):
    """No word occurs more than `max` times."""

    type: Literal["word_repeats"]
    max: Positive


class WordAt(ContractModel):
    """The n-th word (from 1; from the end if negative) of the text, or of its n-th sentence, is `word`."""

    type: Literal["word_at"]
    word: Word
    n: int = Field(description="Counted from 1; -1 is the last.")
    sentence: int | None = Field(None, description="Sentence to count in, from 1; -1 is the last.")

    @model_validator(mode="after")
    def _from_one(self) -> WordAt:
        if self.n == 0 or self.sentence == 0:
            raise ValueError("positions are counted from 1")
        return self


class SentenceKeyword(ContractModel):
    """The n-th sentence (from 1) contains `word`."""

    type: Literal["sentence_keyword"]
    n: Positive
    word: Word


class SentenceIncrement(ContractModel):
    """At least two sentences, each with exactly `by` more words than the one before."""

    type: Literal["sentence_increment"]
    by: Positive


class Nesting(ContractModel):
    """Brackets, or quotation marks of alternating kind, nested at least `depth` deep and all closed."""

    type: Literal["nested_brackets", "nested_quotes"]
    depth: Positive


class ListLines(ContractModel):
    """The number of lines that start with `marker`."""

    type: Literal["list_lines"]
    marker: Word
    rel: Rel
    n: Count


class TrigramOverlap(ContractModel):
    """The share of the text's word trigrams that also occur in `text`: `percent`, within `tolerance`."""

    type: Literal["trigram_overlap"]
    text: Word
    percent: float = Field(ge=0, le=100)
    tolerance: float = Field(2, ge=0, le=100)


class StopWordRatio(ContractModel):
    """At most `max` percent of the words are English stop words."""

    type: Literal["stop_word_ratio"]
    max: float = Field(ge=0, le=100)


class SentenceTypes(ContractModel):
    """Statements, questions and exclamations occur in this ratio (kinds not given are 0)."""

    type: Literal["sentence_types"]
    statements: Count = 0
    questions: Count = 0
    exclamations: Count = 0

    @model_validator(mode="after")
    def _something(self) -> SentenceTypes:
        if self.statements + self.questions + self.exclamations == 0:
            raise ValueError("at least one share must be above 0")
        return self


class Reversed(ContractModel):
    """The text is `text` reversed, by characters or by words."""

    type: Literal["reversed_text"]
    text: Word
    unit: Literal["char", "word"]


Instruction = (
    Pattern
    | Tally
    | WordRange
    | Palindromes
    | WordRepeats
    | WordAt
    | SentenceKeyword
    | SentenceIncrement
    | Nesting
    | ListLines
    | TrigramOverlap
    | StopWordRatio
    | SentenceTypes
    | Reversed
)
