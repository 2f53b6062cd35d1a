"""An item: one completion to score, with its reference."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from assay.contract.base import ContractModel
from assay.contract.messages import ChatMessage


class Options(ContractModel):
    """Limits of one item. A value above the server's ceiling is refused, never clamped."""

    timeout_s: float | None = Field(None, gt=0, description="Wall seconds, from the run's start.")
    cpu_s: float | None = Field(None, gt=0, description="CPU seconds.")
    explain: bool = Field(False, description="Fill the result's `explanation`.")


class Item(ContractModel):
    """One completion to score."""

    id: str | None = Field(None, description="Returned unchanged; unique in a batch. Default: the index as text.")
    verifier: str = Field(description="Name of the verifier; `name@N` requires that version.")
    completion: str | list[ChatMessage] = Field(
        description="Text of the model, or its messages and the environment's. Never the prompt."
    )
    reference: dict[str, Any] = Field(description="The expected answer, or `{'$ref': 'sha256:…'}` for an uploaded one.")
    prompt: str | list[ChatMessage] | None = Field(None, description="Context only; answers are never taken from it.")
    prefill: str | None = Field(None, description="Text that the chat template put before the completion.")
    group: str | None = Field(None, description="The prompt's id: the items of a group are scored together.")
    run: str | None = Field(None, description="A label for pages, logs and fair share.")
    step: int | None = Field(None, description="A label for pages and logs.")
    completion_tokens: int | None = Field(None, ge=0, description="Length in tokens of the caller's tokenizer.")
    completion_ids: list[int] | None = Field(None, description="Token ids of the caller's tokenizer.")
    scores: dict[str, float | None] | None = Field(
        None, description="Scores of this completion from other systems, by name."
    )
    final_state: Any = Field(
        None, description="State recorded by the environment after the tool calls, never by the model."
    )
    truncated: bool | None = Field(None, description="The generator stopped at its length limit.")
    options: Options | None = None


ITEM_FIELDS: tuple[str, ...] = tuple(Item.model_fields)
"""All fields of an item, in the contract's order."""
