"""An item: one completion to be scored, and what right looks like."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from assay.contract.base import WireModel
from assay.contract.messages import ChatMessage


class Options(WireModel):
    """Limits of one item. A value above the server's ceiling is refused, never clamped."""

    timeout_s: float | None = Field(None, gt=0, description="Wall seconds, from the run's start.")
    cpu_s: float | None = Field(None, gt=0, description="CPU seconds.")
    explain: bool = Field(False, description="Fill the result's `explanation`.")


class Item(WireModel):
    """One completion to be scored."""

    id: str | None = Field(None, description="Echoed; unique in a batch. Default: the index as text.")
    verifier: str = Field(description="A verifier's name; `name@N` pins its version.")
    completion: str | list[ChatMessage] = Field(
        description="What the model wrote and what the environment answered. Never the prompt."
    )
    reference: dict[str, Any] = Field(
        description="What right looks like, or `{'$ref': 'sha256:…'}` for an uploaded one."
    )
    prompt: str | list[ChatMessage] | None = Field(None, description="Context only: no verifier finds an answer in it.")
    prefill: str | None = Field(None, description="Text that the template had already written before the completion.")
    group: str | None = Field(None, description="The prompt's id: a GRPO group is finished together.")
    run: str | None = Field(None, description="A label for pages, logs and fair share.")
    step: int | None = Field(None, description="A label for pages and logs.")
    completion_tokens: int | None = Field(None, ge=0, description="Length by the caller's tokenizer.")
    completion_ids: list[int] | None = Field(None, description="Token ids by the caller's tokenizer.")
    scores: dict[str, float | None] | None = Field(
        None, description="Scores that other systems gave this completion, by name."
    )
    final_state: Any = Field(
        None, description="State recorded by the environment after the tool calls, never by the model."
    )
    truncated: bool | None = Field(None, description="The generator stopped at its length cap.")
    options: Options | None = None


ITEM_FIELDS: tuple[str, ...] = tuple(Item.model_fields)
"""Every field of an item, in the contract's order."""
