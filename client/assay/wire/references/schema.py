"""The reference of `schema`: JSON in the completion is valid and, with `gold`, equal."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.wire.base import Reference


class SchemaReference(Reference):
    """JSON Schema 2020-12. No external `$ref`."""

    schema_: dict[str, Any] | bool = Field(alias="schema")
    extract: Literal["whole", "fence_ok"] = "whole"
    mode: Literal["text", "tool_call"] = "text"
    assert_format: bool = Field(False, description="`format` counts only with this.")
    gold: Any = Field(None, description="Also equal to this; matchers are allowed.")
    tool: str | None = Field(None, description="With `tool_call`: the tool whose arguments are judged.")
