"""A result: the three-valued verdict on one item.

`reward` is a finite number, or null if there is no verdict: a fault of the service or of the row, never of the model. A
fault of the model (wrong, unparsed, crash, timeout, too much output) is a reward, normally 0.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from assay.contract.base import ContractModel

NATIVE = object()
"""Marks a field of a verdict with a closed type, which needs no JSON encoding of its own."""


class Outcome(str, Enum):
    """Summary of a result."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    PARTIAL = "partial"
    SHAPED = "shaped"
    NO_VERDICT = "no_verdict"


def outcome_of(*, reward: float | None, score: float | None) -> Outcome:
    """Return the outcome for a reward and a score."""
    if reward is None:
        return Outcome.NO_VERDICT
    if score is None:
        return Outcome.SHAPED
    if score == 1:
        return Outcome.CORRECT
    return Outcome.INCORRECT if score == 0 else Outcome.PARTIAL


class ResultModel(ContractModel):
    """Base class of results. Results may gain fields: a client ignores those that it does not know."""

    model_config = ConfigDict(extra="ignore", strict=False, frozen=True, allow_inf_nan=False)


class ErrorInfo(ResultModel):
    """Why there is no verdict."""

    code: str = Field(
        description="`invalid_item`, `invalid_reference`, `unknown_reference`, `sandbox_unavailable`, "
        "`worker_lost`, `overloaded`, `deadline`, `verifier_error` …"
    )
    message: str
    retryable: bool
    field: str | None = Field(None, description="The faulty field, if there is one.")


class Timing(ResultModel):
    """Milliseconds of waiting, wall time and CPU time of the verifier."""

    queue_ms: float = 0.0
    run_ms: float = 0.0
    cpu_ms: float = 0.0


class VerdictFields(ResultModel):
    """The fields that a verdict, a part and a result have in common.

    This is the only list of them. A lane encodes them once (`assay.service.engine.workers.encode`), and everything
    after it passes them on by name. A field marked `NATIVE` is sent as a plain value; the others hold any JSON and are
    sent as JSON bytes.
    """

    reward: float | None = Field(description="Null: no verdict; must never be read as 0.")
    score: float | None = Field(description="Correctness in [0, 1] before any shaping, or null.")
    reason: str = Field(description="`equal`, `unequal`, `no_answer`, `timeout`, …")
    extracted: Any = Field(None, description="What was taken as the answer, bounded.")
    span: Annotated[tuple[int, int] | None, NATIVE] = Field(
        None, description="Span of the answer in the scored text, in code points."
    )
    message: Annotated[int | None, NATIVE] = Field(None, description="Index of the message that holds the scored text.")
    parts: list[Part] | None = Field(None, description="composite: one entry per part, always all parts.")
    tests: list[dict[str, Any]] | None = Field(None, description="code: one entry per test, in order.")
    flags: Annotated[tuple[str, ...], NATIVE] = Field((), description="Observations. A flag never changes the reward.")
    explanation: dict[str, Any] | None = Field(None, description="With `options.explain`.")


class Part(VerdictFields):
    """One part of a composite."""

    name: str
    weight: float
    verifier: str
    outcome: Outcome
    error: ErrorInfo | None = None


VerdictFields.model_rebuild()  # `parts` refers to `Part`; resolve it here for subclasses in other modules


class Result(VerdictFields):
    """The verdict on one item."""

    id: str
    outcome: Outcome
    error: ErrorInfo | None = Field(None, description="Set only with `no_verdict`.")
    verifier: str = Field(description="`name@version`, or the requested name if unknown.")
    item_key: str | None = Field(None, description="Items with equal keys have equal verdicts.")
    timing: Timing = Timing()
    cached: bool = False

    @property
    def retryable(self) -> bool:
        """Whether the reward is a null that may become a verdict if the item is sent again."""
        return self.error is not None and self.error.retryable


class Stats(ResultModel):
    """Counts of one request."""

    items: int
    cached: int = 0
    no_verdict: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)
    wall_ms: float = 0.0


class StreamEnd(ResultModel):
    """The last line of a stream. Without it the stream was cut."""

    done: Literal[True] = True
    count: int


OPTIONAL_FIELDS: tuple[str, ...] = tuple(
    name for name in VerdictFields.model_fields if name not in ("reward", "score", "reason")
)
"""The optional fields of a verdict, in the contract's order."""
NATIVE_FIELDS: frozenset[str] = frozenset(
    name for name in OPTIONAL_FIELDS if NATIVE in VerdictFields.model_fields[name].metadata
)
"""Fields that are sent as plain values; the others are sent as JSON bytes."""
