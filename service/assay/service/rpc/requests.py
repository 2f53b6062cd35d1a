"""Convert protobuf requests to batches: the same intake as HTTP, with open-typed values already as JSON bytes.

`PbCodec` reads the values of a message where the JSON codec reads slices of a body. References, messages and state are
the bytes that were sent; the lane checks that they are strict JSON. Items are counted in the bytes before decoding,
because protobuf needs hundreds of bytes of memory for an empty item of two bytes.
"""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from msgspec import UNSET

from assay.contract import assay_pb2 as pb
from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.codecs import IllTyped
from assay.service.engine.intake.frames import ItemFrame, OptionsFrame, json_of
from assay.service.engine.intake.validate import Intake
from assay.service.engine.intake.work import Batch

_PLAIN = ("id", "verifier", "prefill", "group", "run", "step", "completion_tokens", "truncated")


class PbCodec:
    """Reads the values of a message: text as `str`, JSON as `bytes`."""

    def decode(self, body: bytes, kind: Any) -> Any:
        """Raise `DecodeError`: protobuf has already decoded the request."""
        raise msgspec.DecodeError("a protobuf message is already decoded")

    def text_or_json(self, raw: Any) -> str | bytes:
        """See `assay.service.engine.intake.codecs.Codec`."""
        if isinstance(raw, bytes) and not raw.lstrip().startswith(b"["):
            raise IllTyped("must be a list of messages")
        value: str | bytes = raw
        return value

    def json(self, raw: Any) -> bytes:
        """See `assay.service.engine.intake.codecs.Codec`."""
        return raw if isinstance(raw, bytes) else json_of(raw)

    def size(self, raw: Any) -> int:
        """Return the size of the value in bytes."""
        return len(raw)


def batch_of(body: bytes, intake: Intake, *, owner: str, left_s: float | None) -> Batch:
    """Return a serialized ScoreRequest as a batch; `left_s` bounds its deadline. Raises `EnvelopeFault`."""
    request = parsed(body, most=intake.limits.items)
    defaults = frame(request.defaults) if request.HasField("defaults") else None
    asked = request.deadline_s if request.HasField("deadline_s") else None
    given = [seconds for seconds in (asked, left_s) if seconds is not None]
    return intake.read_frames(
        frames(request), PbCodec(), defaults=defaults, owner=owner, deadline_s=min(given, default=None)
    )


def parsed(body: bytes, *, most: int) -> pb.ScoreRequest:
    """Return the message if it has at most `most` items. Raises `EnvelopeFault`."""
    if _more_items(body, most):
        raise EnvelopeFault(
            ProblemCode.TOO_LARGE, f"items: must be at most {most} items", status=413, field="items", limit=most
        )
    try:
        return pb.ScoreRequest.FromString(body)
    except DecodeError:
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "the message cannot be decoded", status=400) from None


_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_OTHER_FIELDS = 64
"""Maximum number of top-level fields other than items (currently two)."""


def _more_items(body: bytes, most: int) -> bool:
    """Return whether a message has more fields than `most` items need. Invalid protobuf is left to the parser."""
    at = 0
    for _ in range(most + _OTHER_FIELDS):
        if at >= len(body):
            return False
        tag, at = _varint(body, at)
        kind = tag & 7
        if kind in (_LENGTH, _VARINT):
            value, at = _varint(body, at)
            at += value if kind == _LENGTH else 0
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
    return at < len(body)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            break
        byte, at = body[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
    return value, at


def frames(request: pb.ScoreRequest) -> list[ItemFrame]:
    """Return the items of a request, before `defaults` are merged."""
    return [frame(item) for item in request.items]


def frame(item: pb.Item) -> ItemFrame:
    """Return one item in the form of the intake."""
    fields: dict[str, Any] = {name: getattr(item, name) for name in _PLAIN if item.HasField(name)}
    fields["completion"] = _one_of(item, "completion", "text", "messages_json")
    fields["prompt"] = _one_of(item, "prompt", "prompt_text", "prompt_messages_json")
    if item.HasField("reference_json"):
        fields["reference"] = item.reference_json
    if item.HasField("final_state_json"):
        fields["final_state"] = item.final_state_json
    if item.HasField("completion_ids"):
        fields["completion_ids"] = json_of(list(item.completion_ids.ids))
    if item.scores:
        scores = {name: given.value if given.HasField("value") else None for name, given in item.scores.items()}
        fields["scores"] = json_of(scores)
    if item.HasField("options"):
        fields["options"] = _options(item.options)
    return ItemFrame(**fields)


def _one_of(item: pb.Item, group: str, text: str, messages: str) -> Any:
    which = item.WhichOneof(group)
    return UNSET if which is None else getattr(item, text if which == text else messages)


def _options(options: pb.Options) -> OptionsFrame:
    return OptionsFrame(
        timeout_s=options.timeout_s if options.HasField("timeout_s") else None,
        cpu_s=options.cpu_s if options.HasField("cpu_s") else None,
        explain=options.explain,
    )
