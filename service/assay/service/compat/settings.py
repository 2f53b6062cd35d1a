"""Settings of the wires: which are on, and how a trainer's label becomes an item.

    [wires.openrlhf]
    verifier = "math"
    reference = { answer = "{label}" }

Templates are `assay.client.templates`; each wire's file says which names its rows have.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from assay.client import ConfigurationError
from assay.client.sequences import SPECIAL_TOKENS
from assay.client.templates import template
from assay.contract.item import ITEM_FIELDS


class MappedWire(BaseModel):
    """What every wire needs to know that sends a label and not an item."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    verifier: str = Field(description="A verifier's name, or a template.")
    reference: dict[str, Any] | str = Field(description="Template of the reference.")
    fields: dict[str, Any] = Field(default_factory=dict, description="Templates of further item fields.")
    row_fault: Literal["constant", "refuse"] = Field(
        "constant", description="A row that cannot be judged: `constant` for it (and counted), or 422."
    )
    constant: float = Field(0.5, allow_inf_nan=False, description="Neither right nor wrong.")

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
            raise ValueError(f"not a field that can be filled in: {', '.join(sorted(wrong))}")
        return value


class OpenRlhfWire(MappedWire):
    """`--reward.remote_url http://HOST:PORT/get_reward`."""

    path: str = Field("/get_reward", pattern="^/", description="Where it is served.")
    deadline_s: float = Field(150.0, gt=0, description="The client waits 180 s.")
    special_tokens: tuple[str, ...] = Field(SPECIAL_TOKENS, description="Cut from the end of a query.")


class SlimeWire(MappedWire):
    """`--rm-type remote_rm --rm-url http://HOST:PORT/slime`."""

    path: str = Field("/slime", pattern="^/", description="Where it is served.")
    deadline_s: float = Field(90.0, gt=0, description="The client waits 120 s.")
    reward_key: str | None = Field(None, description="As `--reward-key`: answer an object. Default: a number.")


class NemoGymWire(MappedWire):
    """A resources server of NeMo Gym."""

    prefix: str = Field("", pattern="^(/.*[^/])?$", description="Path before `/verify` and its kin.")
    deadline_s: float = Field(300.0, gt=0, description="Seconds for one verification.")


class SandboxFusionWire(BaseModel):
    """SandboxFusion's `/run_code` and `/submit`; programs run only in the sandbox."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prefix: str = Field("", pattern="^(/.*[^/])?$", description="Path before `/run_code` and its kin.")
    queue_s: float = Field(8.0, gt=0, description="Seconds that a run may wait; verl's client bears 10.")


class WiresSettings(BaseModel):
    """Which wires are on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    openrlhf: OpenRlhfWire | None = Field(None, description="OpenRLHF's remote reward; see compat.md.")
    slime: SlimeWire | None = Field(None, description="slime's remote reward; see compat.md.")
    nemo_gym: NemoGymWire | None = Field(None, description="A NeMo Gym resources server; see compat.md.")
    sandbox_fusion: SandboxFusionWire | None = Field(None, description="SandboxFusion; see compat.md.")

    @property
    def plugins(self) -> tuple[str, ...]:
        """Verifiers that wires bring."""
        return ("assay.service.compat.program",) if self.sandbox_fusion is not None else ()
