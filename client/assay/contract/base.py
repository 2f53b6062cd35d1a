"""What every model of the contract has in common: strict, frozen, and no unknown field."""

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """A model of the contract. Unknown fields, coerced types, NaN and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Reference(WireModel):
    """What right looks like, for one verifier. Shared by all rollouts of a prompt."""
