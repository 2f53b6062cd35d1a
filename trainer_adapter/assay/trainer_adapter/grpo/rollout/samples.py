"""Samples of a prompt, and the group that they form."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.trainer_adapter.grades import Grade
from assay.trainer_adapter.grpo.rollout.data import Draw


@dataclass
class Sample:
    """One completion. `mask` is False where a token was not the policy's choice (a forced end of thinking).

    `logps` are the generator's, at the temperature of sampling; NaN where it has none. `spans`: `(version, tokens)` in
    order, which version of the policy sampled which tokens.
    """

    draw: int
    index: int
    ids: list[int]
    mask: list[bool]
    logps: list[float]
    text: str
    truncated: bool
    grade: Grade | None = None
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Number of tokens, forced ones included."""
        return len(self.ids)


@dataclass
class Group:
    """The samples of one draw."""

    draw: Draw
    samples: list[Sample] = field(default_factory=list)
