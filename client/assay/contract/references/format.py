"""The reference of `format`: constraints on the shape of a completion, one model per kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel, Reference
from assay.contract.references.instructions import Count, Instruction, Positive, Rel, Word
from assay.contract.references.layouts import LayoutConstraint

Region = Literal["whole", "answer", "think"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class SoftOverlong(ContractModel):
    """DAPO eq. 13: 0 up to max - cache tokens, then falling linearly to -1."""

    type: Literal["soft_overlong"]
    max: Positive
    cache: Positive


class CosineLength(ContractModel):
    """A reward that changes with length along a cosine (arXiv 2502.03373)."""

    type: Literal["cosine_length"]
    max: Positive
    correct: tuple[Number, Number] = Field(strict=False, description="Values at `max` tokens and at 0 tokens.")
    wrong: tuple[Number, Number] = Field(strict=False, description="Values at 0 tokens and at `max` tokens.")
    correct_part: str = Field(description="Name of the composite's part that decides correctness.")


class Repetition(ContractModel):
    """(1 - distinct/all n-grams) * max_penalty, on `completion_ids`."""

    type: Literal["repetition"]
    ngram: int = Field(gt=0, le=256)
    max_penalty: Number = Field(le=0)


class ThinkAnswer(ContractModel):
    """One `<think>…</think>`, then one non-blank `<answer>…</answer>`."""

    type: Literal["think_answer"]
    strict: bool = Field(False, description="Only white space outside the two blocks.")
    think_prefilled: bool = Field(False, description="The prompt already opened `<think>`.")


class Think(ContractModel):
    """One think block, first, with non-blank text after it."""

    type: Literal["think"]
    strict: bool = Field(False, description="The thinking must not be blank either.")
    think_prefilled: bool = Field(False, description="The prompt already opened `<think>`.")


class Plain(ContractModel):
    """Constraints without parameters."""

    type: Literal["all_caps", "all_lower", "no_comma", "title", "quoted", "json"]


class Edge(ContractModel):
    """The text starts, or ends, with `text`."""

    type: Literal["starts_with", "ends_with"]
    text: Word


class Postscript(ContractModel):
    """A line starts with `marker`."""

    type: Literal["postscript"]
    marker: Word


class RepeatPrompt(ContractModel):
    """The text starts with `prompt`."""

    type: Literal["repeat_prompt"]
    prompt: Word


class Keywords(ContractModel):
    """All, or any, of the words occur."""

    type: Literal["keywords"]
    all: list[Word] | None = Field(None, min_length=1)
    any: list[Word] | None = Field(None, min_length=1)
    match: Literal["word", "literal"] = "word"

    @model_validator(mode="after")
    def _one_list(self) -> Keywords:
        if (self.all is None) == (self.any is None):
            raise ValueError("give exactly one of all, any")
        return self


class Forbidden(ContractModel):
    """None of the words occurs."""

    type: Literal["forbidden"]
    any: list[Word] = Field(min_length=1)
    match: Literal["word", "literal"] = "word"


class KeywordCount(ContractModel):
    """The number of occurrences of a word."""

    type: Literal["keyword_count"]
    word: Word
    rel: Rel
    n: Count


class WordCount(ContractModel):
    """The number of words, split at white space."""

    type: Literal["word_count"]
    rel: Rel
    n: Count


class UnitCount(ContractModel):
    """The number of sentences, highlighted spans (`*…*`), or words in capitals."""

    type: Literal["sentence_count", "highlights", "capital_words"]
    rel: Rel
    n: Count


class ParagraphCount(ContractModel):
    """The number of paragraphs."""

    type: Literal["paragraph_count"]
    rel: Rel
    n: Count
    separator: Word | None = Field(None, description="Separator of paragraphs (IFEval: `***`). Default: blank lines.")


class Sections(ContractModel):
    """The number of sections: lines that start with `marker` and a number, such as `Section 3`."""

    type: Literal["sections"]
    marker: Word
    rel: Rel
    n: Count


class TwoResponses(ContractModel):
    """Two different responses with `separator` between them."""

    type: Literal["two_responses"]
    separator: Word = "******"


class OneOf(ContractModel):
    """The whole text is one of the options."""

    type: Literal["one_of"]
    options: list[Word] = Field(min_length=1)


class CharCount(ContractModel):
    """The number of occurrences of a character."""

    type: Literal["char_count"]
    char: str = Field(min_length=1, max_length=1)
    rel: Rel
    n: Count


class Placeholders(ContractModel):
    """The number of `[…]` placeholders."""

    type: Literal["placeholders"]
    rel: Rel
    n: Count


class Bullets(ContractModel):
    """Exactly n lines start with `- ` or `* `."""

    type: Literal["bullets"]
    n: Count


class NthParagraphFirstWord(ContractModel):
    """The text has exactly `paragraphs` paragraphs; the n-th (from 1) starts with `word`."""

    type: Literal["nth_paragraph_first_word"]
    paragraphs: Positive
    n: Positive
    word: Word


class CopySpan(ContractModel):
    """The reply equals words start…end of `text`, counted from 0, both included."""

    type: Literal["copy_span"]
    text: Word
    start: Count
    end: Count
    unit: Literal["word"] = "word"


class Language(ContractModel):
    """The text is in the given language."""

    type: Literal["language"]
    code: Word
    min_confidence: float | None = Field(
        None, ge=0, le=1, description="Confidence under which a text counts as in any language. Default: 0.3."
    )


class LanguageConsistency(ContractModel):
    """The share of letters in the language's script."""

    type: Literal["language_consistency"]
    code: Word
    scope: Literal["think", "answer", "whole"]
    min_ratio: float = Field(ge=0, le=1)


Constraint = Annotated[
    SoftOverlong
    | CosineLength
    | Repetition
    | ThinkAnswer
    | Think
    | Plain
    | Edge
    | Postscript
    | RepeatPrompt
    | Keywords
    | Forbidden
    | KeywordCount
    | WordCount
    | CharCount
    | Placeholders
    | Bullets
    | NthParagraphFirstWord
    | CopySpan
    | Language
    | LanguageConsistency
    | UnitCount
    | ParagraphCount
    | Sections
    | TwoResponses
    | OneOf
    | Instruction
    | LayoutConstraint,
    Field(discriminator="type"),
]


class FormatReference(Reference):
    """Constraints, each 1 (met) or 0 except for the penalties, and how their values are aggregated."""

    constraints: list[Constraint] = Field(min_length=1)
    aggregate: Literal["all", "mean", "sum"] = Field(description="`all`: 1 if every value is 1, else 0.")
    region: Region = Field("whole", description="The text that constraints look at; think constraints look at all.")
