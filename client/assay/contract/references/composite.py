"""The reference of `composite`: parts, and how their rewards are combined."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel, Reference

Number = Annotated[float, Field(allow_inf_nan=False)]


class Part(ContractModel):
    """One verifier's contribution."""

    name: str = Field(min_length=1, description="Unique in its composite.")
    verifier: str = Field(description="Name of the verifier; `name@N` requires that version.")
    reference: dict[str, Any] = Field(description="The reference of that verifier.")
    weight: Number = Field(1.0, description="0 is allowed: the part is scored and returned, and counts in gates.")


class Gate(ContractModel):
    """The sum counts only if `part` reaches `min`; otherwise the reward is `else` (default: the lower of 0 and the
    sum).
    """

    part: str = Field(description="Name of the part that must reach `min`.")
    min: Number = Field(description="The lowest unweighted reward that opens the gate.")
    else_: Number | None = Field(None, alias="else", description="The reward while the gate is closed.")


class Combine(ContractModel):
    """`sum` = sum of weight * reward; `product` and `min` ignore weights; `clip` is applied last."""

    op: Literal["sum", "product", "min", "gate"] = Field(description="`gate`: the sum if all gates are open.")
    gates: list[Gate] | None = Field(None, description="With `gate`: the conditions.")
    clip: tuple[Number, Number] | None = Field(None, strict=False, description="Bounds of the reward: low, high.")


class CompositeReference(Reference):
    """Parts and how they combine, or a preset. If a part has no verdict, the composite has none. Depth at most 4."""

    parts: list[Part] | None = Field(None, min_length=1, description="All parts are always scored and returned.")
    combine: Combine | None = Field(None, description="How their rewards are combined.")
    primary: str | None = Field(
        None, description="The part whose `score` is the composite's; default: the first that has one."
    )
    preset: str | None = Field(
        None, description="A published recipe in place of `parts` and `combine`: `r1_zero`, `r1`, `dapo`, `olmo`."
    )
    params: dict[str, Any] | None = Field(None, description="The preset's parameters (docs/verifiers/presets.md).")

    @model_validator(mode="after")
    def _parts_or_preset(self) -> CompositeReference:
        own = self.parts is not None and self.combine is not None
        stray = self.model_fields_set & ({"preset", "params"} if own else {"parts", "combine", "primary"})
        if stray or own == (self.preset is not None):
            raise ValueError("give parts and combine, or a preset")
        return self
