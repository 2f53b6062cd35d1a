"""Results as bytes: JSON as the contract says, or msgpack with JSON values as `bin`.

What a lane sent as JSON is spliced in as it is. `reward`, `score` and `reason` are always written: a
naive reader must find the null. Empty optional fields are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from assay.contract.result import outcome_of
from assay.service.engine.intake.frames import json_of
from assay.service.engine.intake.work import Fault, Work
from assay.service.engine.schedule.tickets import Scored, Submission
from assay.service.engine.workers.protocol import Report


class ErrorFrame(Struct):
    """`error` of a result."""

    code: str
    message: str
    retryable: bool
    field: str | UnsetType = UNSET


class TimingFrame(Struct):
    """`timing` of a result, milliseconds."""

    queue_ms: float = 0.0
    run_ms: float = 0.0
    cpu_ms: float = 0.0


class ResultFrame(Struct, kw_only=True):
    """A result on its way out; JSON values are `Raw` in JSON and bytes in msgpack."""

    id: str
    reward: float | None
    score: float | None
    outcome: str
    reason: str
    error: ErrorFrame | UnsetType = UNSET
    extracted: Any = UNSET
    span: tuple[int, int] | UnsetType = UNSET
    message: int | UnsetType = UNSET
    parts: Any = UNSET
    tests: Any = UNSET
    flags: tuple[str, ...] = ()
    explanation: Any = UNSET
    verifier: str
    item_key: str | UnsetType = UNSET
    timing: TimingFrame
    cached: bool


def result_frame(submission: Submission, index: int, *, wrap: Callable[[bytes], Any] = Raw) -> ResultFrame:
    """The result of one item that is settled. `wrap` makes of JSON bytes what the format can carry."""
    scored, entry = submission.results[index], submission.batch.entries[index]
    assert scored is not None
    if scored.fault is not None or isinstance(entry, Fault):
        return _fault_frame(scored.fault or entry, entry)  # type: ignore[arg-type]
    assert scored.report is not None
    return _report_frame(scored, scored.report, entry, wrap)


def _fault_frame(fault: Fault, entry: Work | Fault) -> ResultFrame:
    label = entry.facts.label if isinstance(entry, Work) else fault.verifier
    error = ErrorFrame(fault.code, fault.message, fault.retryable, fault.field or UNSET)
    return ResultFrame(
        id=entry.id, reward=None, score=None, outcome="no_verdict", reason=fault.code, error=error,
        verifier=label, timing=TimingFrame(), cached=False,
    )  # fmt: skip


def _report_frame(scored: Scored, report: Report, work: Work, wrap: Callable[[bytes], Any]) -> ResultFrame:
    error: ErrorFrame | UnsetType = UNSET
    if report.error:
        error = ErrorFrame(report.error, report.detail, report.retryable, report.field or UNSET)

    def json(value: bytes | None) -> Any:
        return UNSET if value is None else wrap(value)

    return ResultFrame(
        id=work.id, reward=report.reward, score=report.score,
        outcome=outcome_of(reward=report.reward, score=report.score).value,
        reason=report.error or report.reason, error=error, extracted=json(report.extracted),
        span=report.span or UNSET, message=UNSET if report.message is None else report.message,
        parts=json(report.parts), tests=json(report.tests), flags=_flags(report, work),
        explanation=json(report.explanation), verifier=work.facts.label,
        item_key=scored.key.hex() if scored.key else UNSET, timing=_timing(scored, report), cached=scored.cached,
    )  # fmt: skip


def _flags(report: Report, work: Work) -> tuple[str, ...]:
    extra = (*work.flags, *(("truncated",) if work.truncated else ()))
    return report.flags + tuple(flag for flag in extra if flag not in report.flags) if extra else report.flags


def _timing(scored: Scored, report: Report) -> TimingFrame:
    if scored.cached:
        return TimingFrame()
    return TimingFrame(round(scored.queue_ms, 3), report.run_us / 1000, report.cpu_us / 1000)


def stats(frames: Sequence[ResultFrame], *, wall_ms: float) -> dict[str, Any]:
    """What a request amounted to."""
    outcomes: dict[str, int] = {}
    for frame in frames:
        outcomes[frame.outcome] = outcomes.get(frame.outcome, 0) + 1
    return {
        "items": len(frames),
        "cached": sum(frame.cached for frame in frames),
        "no_verdict": outcomes.get("no_verdict", 0),
        "outcomes": outcomes,
        "wall_ms": round(wall_ms, 3),
    }


def response_json(frames: Sequence[ResultFrame], *, wall_ms: float) -> bytes:
    """The body of `/v1/score`."""
    return json_of({"results": frames, "stats": stats(frames, wall_ms=wall_ms)})


def response_msgpack(frames: Sequence[ResultFrame], *, wall_ms: float) -> bytes:
    """The same in msgpack."""
    return msgspec.msgpack.encode({"results": frames, "stats": stats(frames, wall_ms=wall_ms)})


def line_json(frame: ResultFrame) -> bytes:
    """One line of a stream."""
    return json_of(frame) + b"\n"


def as_bin(value: bytes) -> bytes:
    """For msgpack: JSON stays bytes."""
    return value
