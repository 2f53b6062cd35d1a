"""Constraints of `format` that stem from IFBench and need nothing downloaded; one model per set of parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import WireModel

Rel = Literal["<", "<=", "==", ">=", ">"]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Word = Annotated[str, Field(min_length=1)]


class Pattern(WireModel):
    """How words, sentences and lines follow each other: no parameters, the kind's name says it (docs/verifiers)."""

    type: Literal[
        "all_punctuation", "alphabet_words", "consonant_clusters", "emoji_endings", "last_first", "no_repeated_initial",
        "no_whitespace", "one_word_per_line", "paragraph_last_first", "prime_lengths", "stairs", "sub_bullets",
        "title_case", "alliteration_increment",
    ]  # fmt: skip


class Tally(WireModel):
    """How many of something: distinct words, vowels or conjunctions, numbers, pronouns."""

    type: Literal["unique_words", "distinct_vowels", "conjunctions", "number_count", "pronouns"]
    rel: Rel
    n: Count


class WordRange(WireModel):
    """Between `min` and `max` words, both included."""

    type: Literal["word_range"]
    min: Count
    max: Count

    @model_validator(mode="after")
    def _ordered(self) -> WordRange:
        if self.min > self.max:
            raise ValueError("min is more than max")
        return self


class Palindromes(WireModel):
    """How many words of at least `min_length` letters read the same backwards."""

    type: Literal["palindromes"]
    rel: Rel
    n: Count
    min_length: Positive = 5


class WordRepeats(WireModel):
    """No word occurs more than `max` times."""

    type: Literal["word_repeats"]
    max: Positive


class WordAt(WireModel):
    """The n-th word (from 1; from the end if negative) of the text, or of its n-th sentence, is `word`."""

    type: Literal["word_at"]
    word: Word
    n: int = Field(description="From 1; -1 is the last.")
    sentence: int | None = Field(None, description="Count within this sentence: from 1; -1 is the last.")

    @model_validator(mode="after")
    def _from_one(self) -> WordAt:
        if self.n == 0 or self.sentence == 0:
            raise ValueError("places are counted from 1")
        return self


class SentenceKeyword(WireModel):
    """The n-th sentence (from 1) holds `word`."""

    type: Literal["sentence_keyword"]
    n: Positive
    word: Word


class SentenceIncrement(WireModel):
    """At least two sentences, each with exactly `by` words more than the one before."""

    type: Literal["sentence_increment"]
    by: Positive


class Nesting(WireModel):
    """Brackets, or quotation marks of alternating kind, nested at least `depth` deep, and all closed."""

    type: Literal["nested_brackets", "nested_quotes"]
    depth: Positive


class ListLines(WireModel):
    """How many lines start with `marker`."""

    type: Literal["list_lines"]
    marker: Word
    rel: Rel
    n: Count


class TrigramOverlap(WireModel):
    """The share of the text's word trigrams that stand in `text` too: `percent`, give or take `tolerance`."""

    type: Literal["trigram_overlap"]
    text: Word
    percent: float = Field(ge=0, le=100)
    tolerance: float = Field(2, ge=0, le=100)


class StopWordRatio(WireModel):
    """At most `max` percent of the words are English stop words."""

    type: Literal["stop_word_ratio"]
    max: float = Field(ge=0, le=100)


class SentenceTypes(WireModel):
    """Statements, questions and exclamations stand in this ratio (all 0 but for those given)."""

    type: Literal["sentence_types"]
    statements: Count = 0
    questions: Count = 0
    exclamations: Count = 0

    @model_validator(mode="after")
    def _something(self) -> SentenceTypes:
        if self.statements + self.questions + self.exclamations == 0:
            raise ValueError("a ratio of nothing")
        return self


class Reversed(WireModel):
    """The text is `text` backwards, by characters or by words."""

    type: Literal["reversed_text"]
    text: Word
    unit: Literal["char", "word"]


Instruction = (
    Pattern | Tally | WordRange | Palindromes | WordRepeats | WordAt | SentenceKeyword | SentenceIncrement | Nesting
    | ListLines | TrigramOverlap | StopWordRatio | SentenceTypes | Reversed
)  # fmt: skip
