"""Request and response envelopes: a batch of items, its results, and a problem document (RFC 9457)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from assay.contract.base import ContractModel
from assay.contract.item import Item
from assay.contract.result import Result, ResultModel, Stats

Defaults: type[ContractModel] = create_model(  # type: ignore[call-overload]
    "Defaults",
    __base__=ContractModel,
    __doc__="Item fields for every item that does not set its own.",
    **{
        name: (field.annotation | None, Field(None, description=field.description))  # type: ignore[operator]
        for name, field in Item.model_fields.items()
        if name != "id"
    },
)


class ScoreRequest(ContractModel):
    """A batch of completions to score."""

    items: list[Item] = Field(min_length=1)
    defaults: Defaults | None = Field(
        None, description="Merged into each item at the top level; an item's own field wins."
    )
    deadline_s: float | None = Field(
        None, gt=0, description="Seconds; items not started by then have error `deadline`."
    )


class ScoreResponse(ResultModel):
    """The results, in the order of the items."""

    results: list[Result]
    stats: Stats | None = None


class VerifierInfo(ResultModel):
    """A verifier that the service offers."""

    name: str
    version: int
    reads: list[str]
    sandboxed: bool
    reference: dict[str, Any] = Field(description="JSON schema of the reference.")
    summary: str = ""


class Problem(BaseModel):
    """RFC 9457 problem details. Never contains input."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:assay:problem:CODE`.")
    title: str
    status: int
    detail: str | None = None
    field: str | None = Field(None, description="The field at fault.")
    limit: float | None = Field(None, description="The limit that was exceeded.")
    queue_depth: int | None = Field(None, description="With 429: number of waiting items.")
    quota: str | None = Field(None, description="With 429: the exhausted quota.")
    retry_after_s: float | None = Field(None, description="With 429: seconds to wait before trying again.")
