"""Settings of the compat protocols: which are on, and how a trainer's label becomes an item.

    [wires.openrlhf]
    verifier = "math"
    reference = { answer = "{label}" }

Templates are `assay.client.templates`; each protocol's module says which names its rows have.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from assay.client import ConfigurationError
from assay.client.sequences import SPECIAL_TOKENS
from assay.client.templates import columns, template
from assay.contract.item import ITEM_FIELDS


class MappedSettings(BaseModel):
    """Settings of a protocol that sends a label instead of an item."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    row_columns: ClassVar[frozenset[str] | None] = None
    """The names that a template may use, or None where the trainer may send any."""

    verifier: str = Field(description="Name of the verifier, or a template.")
    reference: dict[str, Any] | str = Field(description="Template of the reference.")
    fields: dict[str, Any] = Field(default_factory=dict, description="Templates of further item fields.")
    row_fault: Literal["constant", "refuse"] = Field(
        "constant", description="For a row that cannot be scored: `constant` (and it is counted), or 422."
    )
    constant: float = Field(
        0.5, allow_inf_nan=False, description="Reward of a faulty row, by default neither right nor wrong."
    )

    @field_validator("verifier", "reference", "fields")
    @classmethod
    def _compiles(cls, value: Any) -> Any:
        try:
            template(value)
            json.dumps(value, allow_nan=False)
        except (ConfigurationError, TypeError, ValueError) as error:
            raise ValueError(f"not a template of JSON: {error}") from None
        return value

    @field_validator("fields")
    @classmethod
    def _known(cls, value: dict[str, Any]) -> dict[str, Any]:
        wrong = set(value) & {"id", "verifier", "completion", "reference"} | set(value) - set(ITEM_FIELDS)
        if wrong:
            raise ValueError(f"not a field of an item that can be set: {', '.join(sorted(wrong))}")
        return value

    @model_validator(mode="after")
    def _columns_exist(self) -> Self:
        """Refuse a placeholder that no row can fill: every row would get the constant."""
        if self.row_columns is not None:
            unknown = columns([self.verifier, self.reference, self.fields]) - self.row_columns
            if unknown:
                names = ", ".join(f"{{{name}}}" for name in sorted(unknown))
                raise ValueError(f"no row has {names}; the names are: {', '.join(sorted(self.row_columns))}")
        return self


class OpenRlhfSettings(MappedSettings):
    """`--reward.remote_url http://HOST:PORT/get_reward`."""

    row_columns = frozenset({"label", "prompt", "query"})
    path: str = Field("/get_reward", pattern="^/", description="Path of the route.")
    deadline_s: float = Field(150.0, gt=0, description="Seconds for one request; the client waits 180 s.")
    special_tokens: tuple[str, ...] = Field(SPECIAL_TOKENS, description="Tokens removed from the end of a query.")


class SlimeSettings(MappedSettings):
    """`--rm-type remote_rm --rm-url http://HOST:PORT/slime`."""

    path: str = Field("/slime", pattern="^/", description="Path of the route.")
    deadline_s: float = Field(90.0, gt=0, description="Seconds for one request; the client waits 120 s.")
    reward_key: str | None = Field(None, description="As `--reward-key`: the answer is an object. Default: a number.")


class NemoGymSettings(MappedSettings):
    """A resources server of NeMo Gym."""

    prefix: str = Field("", pattern="^(/.*[^/])?$", description="Path before `/verify` and related routes.")
    deadline_s: float = Field(300.0, gt=0, description="Seconds for one verification.")


class SandboxFusionSettings(BaseModel):
    """SandboxFusion's `/run_code` and `/submit`; programs run only in the sandbox."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prefix: str = Field("", pattern="^(/.*[^/])?$", description="Path before `/run_code` and related routes.")
    queue_s: float = Field(8.0, gt=0, description="Seconds that a run may wait; verl's client waits 10.")


class CompatSettings(BaseModel):
    """The compat protocols that are on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    openrlhf: OpenRlhfSettings | None = Field(None, description="OpenRLHF's remote reward; see compat.md.")
    slime: SlimeSettings | None = Field(None, description="slime's remote reward; see compat.md.")
    nemo_gym: NemoGymSettings | None = Field(None, description="A NeMo Gym resources server; see compat.md.")
    sandbox_fusion: SandboxFusionSettings | None = Field(None, description="SandboxFusion; see compat.md.")

    @property
    def plugins(self) -> tuple[str, ...]:
        """Import paths of the verifiers that protocols need."""
        return ("assay.service.compat.program",) if self.sandbox_fusion is not None else ()
