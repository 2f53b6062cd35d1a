"""msgspec structs of a request: the pydantic models of `assay.contract`, split into raw fields.

References, messages and state stay the JSON bytes that were sent (`Raw`), so that integers of any size
and decimals of any length reach the lane as written. A test asserts that these fields and those of
`assay.contract.Item` are the same.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType


class Envelope(Struct, forbid_unknown_fields=True):
    """A batch, split into items that are not decoded yet."""

    items: list[Raw]
    defaults: Raw | UnsetType = UNSET
    deadline_s: float | None = None


class OptionsFrame(Struct, forbid_unknown_fields=True):
    """`options` of an item."""

    timeout_s: float | None = None
    cpu_s: float | None = None
    explain: bool = False


class ItemFrame(Struct, forbid_unknown_fields=True, kw_only=True):
    """An item, split into its top-level fields."""

    id: str | UnsetType | None = UNSET
    verifier: str | UnsetType = UNSET
    completion: Raw | UnsetType = UNSET
    reference: Raw | UnsetType = UNSET
    prompt: Raw | UnsetType = UNSET
    prefill: str | UnsetType | None = UNSET
    group: str | UnsetType | None = UNSET
    run: str | UnsetType | None = UNSET
    step: int | UnsetType | None = UNSET
    completion_tokens: int | UnsetType | None = UNSET
    completion_ids: Raw | UnsetType = UNSET
    scores: Raw | UnsetType = UNSET
    final_state: Raw | UnsetType = UNSET
    truncated: bool | UnsetType | None = UNSET
    options: OptionsFrame | UnsetType | None = UNSET


FIELDS: tuple[str, ...] = ItemFrame.__struct_fields__
encode_json = msgspec.json.Encoder().encode


def json_of(value: Any) -> bytes:
    """Return a plain value as JSON bytes."""
    return encode_json(value)
