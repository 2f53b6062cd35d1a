"""A result: the three-valued verdict on one item.

`reward` is a finite number, or null where there is no verdict: our fault or the row's, never the
model's. A model's fault (wrong, unparsed, crash, time-out, too much output) is a reward, normally 0.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

from pydantic import ConfigDict, Field

from assay.contract.base import WireModel


class Outcome(str, Enum):
    """What a result says, in one word."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    PARTIAL = "partial"
    SHAPED = "shaped"
    NO_VERDICT = "no_verdict"


def outcome_of(*, reward: float | None, score: float | None) -> Outcome:
    """The outcome that a reward and a score amount to."""
    if reward is None:
        return Outcome.NO_VERDICT
    if score is None:
        return Outcome.SHAPED
    if score == 1:
        return Outcome.CORRECT
    return Outcome.INCORRECT if score == 0 else Outcome.PARTIAL


class ResultModel(WireModel):
    """Results grow by additive fields: a client ignores those that it does not know."""

    model_config = ConfigDict(extra="ignore", strict=False, frozen=True, allow_inf_nan=False)


class ErrorInfo(ResultModel):
    """Why there is no verdict."""

    code: str = Field(
        description="`invalid_item`, `invalid_reference`, `unknown_reference`, `sandbox_unavailable`, "
        "`worker_lost`, `overloaded`, `deadline`, `verifier_error` …"
    )
    message: str
    retryable: bool
    field: str | None = Field(None, description="The field at fault, where there is one.")


class Timing(ResultModel):
    """Milliseconds: waiting, running (wall), and CPU of the verifier."""

    queue_ms: float = 0.0
    run_ms: float = 0.0
    cpu_ms: float = 0.0


class Part(ResultModel):
    """One part of a composite."""

    name: str
    weight: float
    verifier: str
    reward: float | None
    score: float | None
    outcome: Outcome
    reason: str
    error: ErrorInfo | None = None
    extracted: Any = None
    span: tuple[int, int] | None = None
    message: int | None = None
    flags: tuple[str, ...] = ()
    tests: list[dict[str, Any]] | None = None
    parts: list[Part] | None = None


class Result(ResultModel):
    """The verdict on one item."""

    id: str
    reward: float | None = Field(description="Null: no verdict, never to be read as 0.")
    score: float | None = Field(description="Correctness in [0, 1] before any shaping, or null.")
    outcome: Outcome
    reason: str = Field(description="`equal`, `unequal`, `no_answer`, `timeout`, …")
    error: ErrorInfo | None = Field(None, description="Only with `no_verdict`.")
    extracted: Any = Field(None, description="What was taken as the answer, bounded.")
    span: tuple[int, int] | None = Field(None, description="Code points of the judged text at which the answer stands.")
    message: int | None = Field(None, description="Index of the message that holds the judged text.")
    parts: list[Part] | None = None
    tests: list[dict[str, Any]] | None = Field(None, description="code: one entry per test, in order.")
    flags: tuple[str, ...] = Field((), description="Telemetry. A flag never changes the reward.")
    explanation: dict[str, Any] | None = Field(None, description="With `options.explain`.")
    verifier: str = Field(description="`name@version`, or the name as asked where it is unknown.")
    item_key: str | None = Field(None, description="Equal key, equal verdict.")
    timing: Timing = Timing()
    cached: bool = False

    @property
    def retryable(self) -> bool:
        """True for a null that may become a verdict if the item is sent again."""
        return self.error is not None and self.error.retryable


class Stats(ResultModel):
    """What one request amounted to."""

    items: int
    cached: int = 0
    no_verdict: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)
    wall_ms: float = 0.0


class StreamEnd(ResultModel):
    """The last line of a stream; without it the stream was cut."""

    done: Literal[True] = True
    count: int
