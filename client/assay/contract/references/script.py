"""The reference of `script`: a user-defined verifier, run in the sandbox."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.contract.base import ContractModel, Reference


class ScriptLimits(ContractModel):
    """Limits of one run. A value above the server's ceiling refuses the row; it is never clamped."""

    wall_s: float | None = Field(None, gt=0, description="Wall seconds.")
    cpu_s: float | None = Field(None, gt=0, description="CPU seconds.")
    memory_mb: int | None = Field(None, gt=0, description="MiB.")


class ScriptReference(Reference):
    """A program that defines `verify(completion, data, prompt)` and returns a number or `{score, reason}`."""

    language: Literal["python"]
    source: str = Field(
        min_length=1,
        description="Python that defines `verify(completion, data, prompt)`. `completion` is the answer text.",
    )
    data: Any = Field(None, description="Reference data, passed to the program.")
    gold: str | None = Field(
        None, min_length=1, description="A correct completion; the row is refused unless the program scores it above 0."
    )
    think: Literal["strip", "keep"] = Field("strip", description="`keep`: the program also gets the thinking.")
    env: str = Field("plain", description="Package environment that the program may import from.")
    limits: ScriptLimits | None = Field(None, description="Limits of each run.")
