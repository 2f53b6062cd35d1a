"""The reference of `composite`: parts, and the algebra that mixes their rewards."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from assay.wire.base import Reference, WireModel

Number = Annotated[float, Field(allow_inf_nan=False)]


class Part(WireModel):
    """One verifier's say."""

    name: str = Field(min_length=1)
    verifier: str
    reference: dict[str, Any]
    weight: Number = 1.0


class Gate(WireModel):
    """The sum counts only if `part` reaches `min`; `else` (default: the lower of 0 and the sum) otherwise."""

    part: str
    min: Number
    else_: Number | None = Field(None, alias="else")


class Combine(WireModel):
    """`sum` = sum of weight * reward; `product` and `min` ignore weights; `clip` comes last."""

    op: Literal["sum", "product", "min", "gate"]
    gates: list[Gate] | None = None
    clip: tuple[Number, Number] | None = Field(None, strict=False)


class CompositeReference(Reference):
    """Parts and how they combine. A part without a verdict masks the whole. Depth 4."""

    parts: list[Part] = Field(min_length=1)
    combine: Combine
    primary: str | None = Field(None, description="The part whose `score` is the composite's.")
