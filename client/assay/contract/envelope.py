"""The envelopes: a batch of items, its results, and a problem (RFC 9457)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from assay.contract.base import WireModel
from assay.contract.item import Item
from assay.contract.result import Result, ResultModel, Stats

Defaults: type[WireModel] = create_model(  # type: ignore[call-overload]
    "Defaults",
    __base__=WireModel,
    __doc__="Item fields for every item that does not carry its own.",
    **{
        name: (field.annotation | None, Field(None, description=field.description))  # type: ignore[operator]
        for name, field in Item.model_fields.items()
        if name != "id"
    },
)


class ScoreRequest(WireModel):
    """A batch of completions to be scored."""

    items: list[Item] = Field(min_length=1)
    defaults: Defaults | None = Field(
        None, description="Merged into each item at the top level; an item's own field wins."
    )
    deadline_s: float | None = Field(
        None, gt=0, description="Items that have not started by then come back as `deadline`."
    )


class ScoreResponse(ResultModel):
    """The results, in the order of the items."""

    results: list[Result]
    stats: Stats | None = None


class VerifierInfo(ResultModel):
    """One verifier that the service offers."""

    name: str
    version: int
    reads: list[str]
    sandboxed: bool
    reference: dict[str, Any] = Field(description="JSON schema of the reference.")
    summary: str = ""


class Problem(BaseModel):
    """RFC 9457 problem details. Never echoes input."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:assay:problem:CODE`.")
    title: str
    status: int
    detail: str | None = None
    field: str | None = Field(None, description="The field at fault.")
    limit: float | None = Field(None, description="The limit that was passed.")
    queue_depth: int | None = Field(None, description="With 429: items waiting.")
    quota: str | None = Field(None, description="With 429: the quota that is used up.")
    retry_after_s: float | None = Field(None, description="With 429: seconds until a new try is sensible.")
