"""Results as protobuf: JSON values as the bytes that the lane sent; NaN for JSON's null, never a default of 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.contract import assay_pb2 as pb
from assay.service.engine.render import ResultFrame, stats

_OUTCOMES = {
    "correct": pb.OUTCOME_CORRECT,
    "incorrect": pb.OUTCOME_INCORRECT,
    "partial": pb.OUTCOME_PARTIAL,
    "shaped": pb.OUTCOME_SHAPED,
    "no_verdict": pb.OUTCOME_NO_VERDICT,
}
_NONE = float("nan")


def result(frame: ResultFrame) -> pb.Result:
    """Return one result as protobuf: open fields as the JSON bytes that the lane sent, under `NAME_json`."""
    timing = pb.Timing(queue_ms=frame.timing.queue_ms, run_ms=frame.timing.run_ms, cpu_ms=frame.timing.cpu_ms)
    message = pb.Result(id=frame.id, reason=frame.reason, verifier=frame.verifier, cached=frame.cached, timing=timing)
    message.verdict.reward = _NONE if frame.reward is None else frame.reward
    message.verdict.score = _NONE if frame.score is None else frame.score
    message.verdict.outcome = _OUTCOMES[frame.outcome]
    if frame.item_key is not None:
        message.item_key = frame.item_key
    if frame.error is not None:
        error = frame.error
        message.no_verdict.CopyFrom(
            pb.NoVerdict(code=error.code, message=error.message, retryable=error.retryable, field=error.field)
        )
    for name, value in frame.fields.items():
        _set(message, name, value)
    return message


def _set(message: pb.Result, name: str, value: Any) -> None:
    if isinstance(value, bytes):
        setattr(message, f"{name}_json", value)
    elif name == "span":
        message.span.start, message.span.end = value
    elif isinstance(value, (list, tuple)):
        getattr(message, name).extend(value)
    else:
        setattr(message, name, value)


def response(frames: Sequence[ResultFrame], *, wall_ms: float) -> pb.ScoreResponse:
    """Return the response of `Score`."""
    return pb.ScoreResponse(results=map(result, frames), stats=pb.Stats(**stats(frames, wall_ms=wall_ms)))
