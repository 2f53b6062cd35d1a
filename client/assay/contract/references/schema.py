"""The reference of `schema`: a document in the completion must be valid and, with `gold`, equal."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assay.contract.base import Reference


class SchemaReference(Reference):
    """JSON Schema 2020-12. No external `$ref`."""

    schema_: dict[str, Any] | bool = Field(alias="schema", description="2020-12, unless `$schema` names another draft.")
    format: Literal["json", "yaml", "toml", "xml", "csv"] = Field(
        "json",
        description="The document's format; the schema describes it as JSON. XML and CSV values are read as the types "
        "that the schema asks for.",
    )
    extract: Literal["whole", "fence_ok", "last_fence", "last_object"] = Field(
        "whole",
        description="`fence_ok`: one code fence around it is allowed. `last_fence`: the last fence in prose. "
        "`last_object`: the last JSON object or array in prose.",
    )
    mode: Literal["text", "tool_call"] = Field(
        "text", description="`tool_call`: there must be exactly one call, whose arguments are checked."
    )
    assert_format: bool = Field(False, description="Whether the keyword `format` is checked.")
    gold: Any = Field(None, description="The value must also equal this; matchers are allowed.")
    tool: str | None = Field(None, description="With `tool_call`: the tool whose arguments are checked.")
