"""The reference of `script`: a user's own verifier, run in the sandbox."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.wire.base import Reference


class ScriptReference(Reference):
    """A program that gets (completion, data, prompt) and returns a number, or `{score, reason}`."""

    language: Literal["python"]
    source: str = Field(min_length=1)
    data: Any = Field(None, description="Handed to the program as its reference data.")
    env: str = "plain"
    limits: dict[str, float] | None = None
