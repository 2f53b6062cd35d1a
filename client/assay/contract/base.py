"""Base classes of the contract's models: strict, frozen, without unknown fields."""

from pydantic import BaseModel, ConfigDict


class ContractModel(BaseModel):
    """A model of the contract. Unknown fields, coerced types, NaN and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Reference(ContractModel):
    """The expected answer, for one verifier. Shared by all rollouts of a prompt."""
