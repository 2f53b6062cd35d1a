"""The reference of `script`: a user's own verifier, run in the sandbox."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.contract.base import Reference, WireModel


class ScriptLimits(WireModel):
    """Limits of one run. Above the server's ceiling the row is refused, never clamped."""

    wall_s: float | None = Field(None, gt=0, description="Wall seconds.")
    cpu_s: float | None = Field(None, gt=0, description="CPU seconds.")
    memory_mb: int | None = Field(None, gt=0, description="MiB.")


class ScriptReference(Reference):
    """A program that defines `verify(completion, data, prompt)`; it returns a number or `{score, reason}`."""

    language: Literal["python"]
    source: str = Field(
        min_length=1,
        description="Python that defines `verify(completion, data, prompt)`. `completion` is the answer text.",
    )
    data: Any = Field(None, description="Handed to the program as its reference data.")
    gold: str | None = Field(
        None, min_length=1, description="A right completion: the program must score it above 0, or refuses the row."
    )
    think: Literal["strip", "keep"] = Field("strip", description="`keep`: the program sees the thinking too.")
    env: str = Field("plain", description="Package environment that the program may import from.")
    limits: ScriptLimits | None = Field(None, description="Limits of each run.")
