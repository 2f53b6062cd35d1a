"""The reference of `exact`: whole answers are compared; containment does not count."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.contract.base import ContractModel, Reference

Extraction = Literal["whole", "answer_tag", "hash4", "answer_line", "boxed", "last_number", "choice"]
OwnExtraction = Literal["pattern", "tag"]
"""Extractions whose rule is in the row."""
Normaliser = Literal["casefold", "ws", "nfkc", "strip_punct", "edge_punct", "edge_stop", "articles", "articles_leading"]


class Tolerance(ContractModel):
    """Correct if |x - gold| <= max(abs, rel * |gold|)."""

    abs: float = Field(0.0, ge=0)
    rel: float = Field(0.0, ge=0)


class ExactReference(Reference):
    """A gold answer, how to extract the model's answer, and how the two are compared."""

    mode: Literal["string", "number", "choice", "set", "list", "quantity"]
    gold: Any = Field(description="A string or number; for `set`, `list` and `choice` with `multi`: an array.")
    aliases: list[Any] | None = Field(None, description="Further gold answers.")
    extract: Extraction | OwnExtraction = Field(description="Extraction rule for the completion.")
    pattern: str | None = Field(
        None, min_length=1, description="With `extract: pattern`: an RE2 pattern with one group, which is the answer."
    )
    tag: str | None = Field(
        None, pattern=r"^[A-Za-z_][\w.:-]{0,63}$", description="With `extract: tag`: the answer is in `<tag>…</tag>`."
    )
    gold_extract: Extraction | None = Field(None, description="Extraction rule for `gold`.")
    normalise: list[Normaliser] | None = Field(
        None, description="Applied to both sides in this order; outer white space is always removed."
    )
    tol: Tolerance | None = Field(None, description="For numbers; without it they are compared exactly.")
    choices: list[str] | None = Field(None, description="Texts of the options of `choice`, in the order of the labels.")
    labels: Literal["letters", "decimal"] = "letters"
    multi: bool = Field(False, description="Several options form the answer; `gold` is an array.")
    sep: str = Field(",", min_length=1, description="Separator of `set` and `list`.")
    item: Literal["string", "number"] = Field("string", description="How members are compared.")
    multiple: Literal["last", "first", "reject"] = Field(
        "last", description="Which of several answers counts; `reject`: two different ones score 0."
    )
    think: Literal["strip", "keep"] = Field("strip", description="`strip` removes the thinking.")
