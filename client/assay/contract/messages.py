"""Chat messages in the form that OpenAI-compatible servers return.

Other fields of such servers (`refusal`, `audio`, `annotations` …) are ignored; `null` means absent.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class ContentPart(BaseModel):
    """One text part of a message whose content is a list."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message of a completion (or of a prompt)."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    role: str = Field(description="`assistant` for the model, `tool` for results of the environment.")
    content: str | list[ContentPart] | None = None
    tool_calls: list[dict[str, Any]] | None = Field(
        None, description="Calls in OpenAI's format; `arguments` is JSON text or an object."
    )
    tool_call_id: str | None = Field(None, description="In a `tool` message: the call that it answers.")
    name: str | None = None
    reasoning_content: str | None = Field(None, description="Thinking that the server returned separately.")
