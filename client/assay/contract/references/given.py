"""The reference of `given`: a score from another system."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from assay.contract.base import Reference

Score = Annotated[float, Field(allow_inf_nan=False)]


class GivenReference(Reference):
    """Either `name`, a key of the item's `scores`, or `score`, in the row (null: no verdict)."""

    name: str | None = Field(None, min_length=1)
    score: Score | None = None

    @model_validator(mode="after")
    def _one_source(self) -> GivenReference:
        if ("name" in self.model_fields_set) == ("score" in self.model_fields_set):
            raise ValueError("give exactly one of name, score")
        return self
