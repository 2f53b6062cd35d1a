"""The reference of `schema`: JSON in the completion is valid and, with `gold`, equal."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.contract.base import Reference


class SchemaReference(Reference):
    """JSON Schema 2020-12. No external `$ref`."""

    schema_: dict[str, Any] | bool = Field(alias="schema", description="2020-12, unless `$schema` says otherwise.")
    extract: Literal["whole", "fence_ok"] = Field("whole", description="`fence_ok`: one fence around it may stand.")
    mode: Literal["text", "tool_call"] = Field(
        "text", description="`tool_call`: exactly one call is made, and its arguments are judged."
    )
    assert_format: bool = Field(False, description="`format` counts only with this.")
    gold: Any = Field(None, description="Also equal to this; matchers are allowed.")
    tool: str | None = Field(None, description="With `tool_call`: the tool whose arguments are judged.")
