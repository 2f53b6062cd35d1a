"""The reference of `format`: constraints on the shape of a completion, one model per kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import Reference, WireModel
from assay.contract.references.instructions import Count, Instruction, Positive, Rel, Word

Region = Literal["whole", "answer", "think"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class SoftOverlong(WireModel):
    """DAPO eq. 13: 0 up to max - cache tokens, then falling to -1."""

    type: Literal["soft_overlong"]
    max: Positive
    cache: Positive


class CosineLength(WireModel):
    """A reward that falls or rises with length along a cosine (arXiv 2502.03373)."""

    type: Literal["cosine_length"]
    max: Positive
    correct: tuple[Number, Number] = Field(strict=False, description="At `max` tokens, at 0 tokens.")
    wrong: tuple[Number, Number] = Field(strict=False, description="At 0 tokens, at `max` tokens.")
    correct_part: str = Field(description="The composite's part that says whether it is correct.")


class Repetition(WireModel):
    """(1 - distinct/all n-grams) * max_penalty, on `completion_ids`."""

    type: Literal["repetition"]
    ngram: int = Field(gt=0, le=256)
    max_penalty: Number = Field(le=0)


class ThinkAnswer(WireModel):
    """One `<think>…</think>`, then one non-blank `<answer>…</answer>`."""

    type: Literal["think_answer"]
    strict: bool = Field(False, description="Only white space outside of the two blocks.")
    think_prefilled: bool = Field(False, description="The prompt already opened `<think>`.")


class Think(WireModel):
    """One think block, first, with non-blank text after it."""

    type: Literal["think"]
    strict: bool = Field(False, description="The thinking is not blank either.")
    think_prefilled: bool = Field(False, description="The prompt already opened `<think>`.")


class Plain(WireModel):
    """Constraints without parameters."""

    type: Literal["all_caps", "all_lower", "no_comma", "title", "quoted", "json"]


class Edge(WireModel):
    """The text starts, or ends, with `text`."""

    type: Literal["starts_with", "ends_with"]
    text: Word


class Postscript(WireModel):
    """A line starts with `marker`."""

    type: Literal["postscript"]
    marker: Word


class RepeatPrompt(WireModel):
    """The text starts with `prompt`."""

    type: Literal["repeat_prompt"]
    prompt: Word


class Keywords(WireModel):
    """All, or any, of some words are there."""

    type: Literal["keywords"]
    all: list[Word] | None = Field(None, min_length=1)
    any: list[Word] | None = Field(None, min_length=1)
    match: Literal["word", "literal"] = "word"

    @model_validator(mode="after")
    def _one_list(self) -> Keywords:
        if (self.all is None) == (self.any is None):
            raise ValueError("give exactly one of all, any")
        return self


class Forbidden(WireModel):
    """None of some words is there."""

    type: Literal["forbidden"]
    any: list[Word] = Field(min_length=1)
    match: Literal["word", "literal"] = "word"


class KeywordCount(WireModel):
    """How often a word stands in the text."""

    type: Literal["keyword_count"]
    word: Word
    rel: Rel
    n: Count


class WordCount(WireModel):
    """How many words, split at white space."""

    type: Literal["word_count"]
    rel: Rel
    n: Count


class UnitCount(WireModel):
    """How many sentences, highlighted stretches (`*…*`), or words in capitals."""

    type: Literal["sentence_count", "highlights", "capital_words"]
    rel: Rel
    n: Count


class ParagraphCount(WireModel):
    """How many paragraphs."""

    type: Literal["paragraph_count"]
    rel: Rel
    n: Count
    separator: Word | None = Field(None, description="What stands between them (IFEval: `***`); default: blank lines.")


class Sections(WireModel):
    """How many sections: lines that start with `marker` and a number, such as `Section 3`."""

    type: Literal["sections"]
    marker: Word
    rel: Rel
    n: Count


class TwoResponses(WireModel):
    """Two different responses with `separator` between them."""

    type: Literal["two_responses"]
    separator: Word = "******"


class OneOf(WireModel):
    """The whole text is one of the options."""

    type: Literal["one_of"]
    options: list[Word] = Field(min_length=1)


class CharCount(WireModel):
    """How often a character stands in the text."""

    type: Literal["char_count"]
    char: str = Field(min_length=1, max_length=1)
    rel: Rel
    n: Count


class Placeholders(WireModel):
    """How many `[…]`."""

    type: Literal["placeholders"]
    rel: Rel
    n: Count


class Bullets(WireModel):
    """Exactly n lines start with `- ` or `* `."""

    type: Literal["bullets"]
    n: Count


class NthParagraphFirstWord(WireModel):
    """Exactly so many paragraphs; the n-th (from 1) starts with `word`."""

    type: Literal["nth_paragraph_first_word"]
    paragraphs: Positive
    n: Positive
    word: Word


class CopySpan(WireModel):
    """The reply is words start…end of `text`, from 0, both included."""

    type: Literal["copy_span"]
    text: Word
    start: Count
    end: Count
    unit: Literal["word"] = "word"


class Language(WireModel):
    """The text is in that language."""

    type: Literal["language"]
    code: Word


class LanguageConsistency(WireModel):
    """The share of letters in that language's script."""

    type: Literal["language_consistency"]
    code: Word
    scope: Literal["think", "answer", "whole"]
    min_ratio: float = Field(ge=0, le=1)


Constraint = Annotated[
    SoftOverlong | CosineLength | Repetition | ThinkAnswer | Think | Plain | Edge | Postscript
    | RepeatPrompt | Keywords | Forbidden | KeywordCount | WordCount | CharCount | Placeholders | Bullets
    | NthParagraphFirstWord | CopySpan | Language | LanguageConsistency | UnitCount | ParagraphCount | Sections
    | TwoResponses | OneOf | Instruction,
    Field(discriminator="type"),
]  # fmt: skip


class FormatReference(Reference):
    """Constraints, each 1 (met) or 0, but for the penalties, and how they add up."""

    constraints: list[Constraint] = Field(min_length=1)
    aggregate: Literal["all", "mean", "sum"] = Field(description="`all`: 1 if every value is 1, else 0.")
    region: Region = Field("whole", description="The text that constraints look at; think constraints look at all.")
