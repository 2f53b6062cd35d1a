"""Results as bytes: JSON as in the contract, or msgpack in which open values are JSON in `bin`.

What a lane sent as JSON is inserted unread. `reward`, `score` and `reason` are always written, null or not, so that a
client which reads `reward` without a default finds the null. Empty optional fields are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from assay.contract.result import outcome_of
from assay.service.engine.intake.frames import json_of
from assay.service.engine.intake.work import Refused, Work
from assay.service.engine.protocol import ErrorFrame, Report
from assay.service.engine.schedule.tickets import Scored, Submission


class TimingFrame(Struct):
    """`timing` of a result, in milliseconds."""

    queue_ms: float = 0.0
    run_ms: float = 0.0
    cpu_ms: float = 0.0


class ResultFrame(Struct, kw_only=True):
    """A result on its way out. `fields` holds the optional fields of the verdict, as in `Report.fields`."""

    id: str
    reward: float | None
    score: float | None
    outcome: str
    reason: str
    error: ErrorFrame | None = None
    fields: dict[str, Any]
    verifier: str
    item_key: str | None = None
    timing: TimingFrame
    cached: bool = False

    def json_field(self, name: str) -> Any:
        """Return an open field of the verdict, decoded, or None where it is absent."""
        raw = self.fields.get(name)
        return None if raw is None else msgspec.json.decode(raw)


def result_frame(submission: Submission, index: int) -> ResultFrame:
    """Return the result of one item whose report is known."""
    scored, entry = submission.results[index], submission.batch.entries[index]
    assert scored is not None
    report = scored.report
    return ResultFrame(
        id=entry.id,
        reward=report.reward,
        score=report.score,
        outcome=outcome_of(reward=report.reward, score=report.score).value,
        reason=report.error.code if report.error else report.reason,
        error=report.error,
        fields=_fields(report, entry),
        verifier=entry.facts.label if isinstance(entry, Work) else entry.verifier,
        item_key=scored.key.hex() if scored.key else None,
        timing=_timing(scored, report),
        cached=scored.cached,
    )


def _fields(report: Report, entry: Work | Refused) -> dict[str, Any]:
    """Return the verdict's optional fields, with the flags that intake adds."""
    flags = tuple(report.fields.get("flags", ()))
    if isinstance(entry, Work):
        extra = (*entry.flags, *(("truncated",) if entry.truncated else ()))
        flags += tuple(flag for flag in extra if flag not in flags)
    return {**report.fields, "flags": flags}


def _timing(scored: Scored, report: Report) -> TimingFrame:
    if scored.cached:
        return TimingFrame()
    return TimingFrame(round(scored.queue_ms, 3), report.run_us / 1000, report.cpu_us / 1000)


def _plain(frame: ResultFrame, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the result in the order of the contract, its optional fields as given."""
    result: dict[str, Any] = {
        "id": frame.id,
        "reward": frame.reward,
        "score": frame.score,
        "outcome": frame.outcome,
        "reason": frame.reason,
    }
    if frame.error is not None:
        result["error"] = frame.error.public()
    result.update(fields)
    result["verifier"] = frame.verifier
    if frame.item_key is not None:
        result["item_key"] = frame.item_key
    result["timing"], result["cached"] = frame.timing, frame.cached
    return result


def _for_json(frame: ResultFrame) -> dict[str, Any]:
    fields = {name: Raw(value) if isinstance(value, bytes) else value for name, value in frame.fields.items()}
    return _plain(frame, fields)


def _for_msgpack(frame: ResultFrame) -> dict[str, Any]:
    return _plain(frame, frame.fields)


def stats(frames: Sequence[ResultFrame], *, wall_ms: float) -> dict[str, Any]:
    """Return the summary of a request."""
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
    """Return the body of `/v1/score` in JSON."""
    return json_of({"results": list(map(_for_json, frames)), "stats": stats(frames, wall_ms=wall_ms)})


def response_msgpack(frames: Sequence[ResultFrame], *, wall_ms: float) -> bytes:
    """Return the body of `/v1/score` in msgpack."""
    return msgspec.msgpack.encode({"results": list(map(_for_msgpack, frames)), "stats": stats(frames, wall_ms=wall_ms)})


def line_json(frame: ResultFrame) -> bytes:
    """Return one line of a stream."""
    return json_of(_for_json(frame)) + b"\n"
