"""Results as protobuf: JSON values as the bytes that the lane sent; NaN where JSON has null, never a default 0."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from assay.contract import assay_pb2 as pb
from assay.service.engine.render import ErrorFrame, ResultFrame, stats

_OUTCOMES = {
    "correct": pb.OUTCOME_CORRECT,
    "incorrect": pb.OUTCOME_INCORRECT,
    "partial": pb.OUTCOME_PARTIAL,
    "shaped": pb.OUTCOME_SHAPED,
    "no_verdict": pb.OUTCOME_NO_VERDICT,
}
_NONE = float("nan")
_JSON = ("extracted", "parts", "tests", "explanation")


def result(frame: ResultFrame) -> pb.Result:
    """One result; `frame` must have been made with `as_bin`."""
    message = pb.Result(
        id=frame.id, reason=frame.reason, flags=frame.flags, verifier=frame.verifier, cached=frame.cached,
        timing=pb.Timing(
            queue_ms=frame.timing.queue_ms, run_ms=frame.timing.run_ms, cpu_ms=frame.timing.cpu_ms
        ),
    )  # fmt: skip
    message.verdict.reward = _NONE if frame.reward is None else frame.reward
    message.verdict.score = _NONE if frame.score is None else frame.score
    message.verdict.outcome = _OUTCOMES[frame.outcome]
    if frame.reward is None:
        message.no_verdict.CopyFrom(_no_verdict(frame))
    for name in _JSON:
        value = getattr(frame, name)
        if value is not UNSET:
            setattr(message, f"{name}_json", value)
    if isinstance(frame.span, tuple):
        message.span.start, message.span.end = frame.span
    if isinstance(frame.message, int):
        message.message = frame.message
    if isinstance(frame.item_key, str):
        message.item_key = frame.item_key
    return message


def _no_verdict(frame: ResultFrame) -> pb.NoVerdict:
    error = frame.error
    if not isinstance(error, ErrorFrame):
        return pb.NoVerdict(code=frame.reason)
    field = error.field if isinstance(error.field, str) else None
    return pb.NoVerdict(code=error.code, message=error.message, retryable=error.retryable, field=field)


def response(frames: Sequence[ResultFrame], *, wall_ms: float) -> pb.ScoreResponse:
    """The answer to `Score`."""
    return pb.ScoreResponse(results=map(result, frames), stats=pb.Stats(**stats(frames, wall_ms=wall_ms)))
