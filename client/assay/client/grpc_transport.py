"""gRPC: `grpc://host:port` (plain) and `grpcs://host:port` (TLS), to `assay.v1.Scorer`.

A JSON request is split at its top level; references, messages and state are sent as their original JSON text, so they
are not changed. Statuses become the same errors as in HTTP: the problem document is in the trailing metadata. Text
with lone surrogates, which protobuf cannot hold, is sent as JSON messages.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, NoReturn

import grpc
from pydantic import ValidationError

from assay.client.errors import (
    AssayError,
    ConfigurationError,
    ProtocolError,
    RequestRefused,
    ServiceUnavailable,
)
from assay.client.problems import error_of
from assay.client.tls import PathLike, TlsFiles
from assay.contract import assay_pb2 as pb
from assay.contract.envelope import Problem
from assay.contract.rawjson import split_array, split_object

SERVICE = "/assay.v1.Scorer"
_RECONNECT = [(f"grpc.{which}_reconnect_backoff_ms", 250) for which in ("initial", "min", "max")]
"""Back-off is done by the client; the channel's own (up to 2 minutes) would hide a service that is available again."""
_LATER = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
    }
)
"""Statuses that correspond to 5xx or a cut connection: a fault in a handler, a server that ended its calls to shut
down.
"""
_TOO_LARGE = "larger than max"
"""Text of gRPC's own refusal of a message for its size, at either end."""
_PLAIN = frozenset({"id", "verifier", "prefill", "group", "run", "step", "completion_tokens", "truncated"})
_OUTCOMES = {
    pb.OUTCOME_CORRECT: "correct",
    pb.OUTCOME_INCORRECT: "incorrect",
    pb.OUTCOME_PARTIAL: "partial",
    pb.OUTCOME_SHAPED: "shaped",
}


_APART = frozenset({"id", "verdict", "no_verdict", "reason", "timing", "cached"})
"""Fields of a result that are not copied by name."""


class GrpcTransport:
    """One service at one address. The key is sent as a bearer token; default: `ASSAY_API_KEY`. For files see `tls`."""

    shares_references = False

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        ca_file: PathLike | None = None,
        client_cert: PathLike | None = None,
        client_key: PathLike | None = None,
        max_bytes: int = 64 << 20,
    ) -> None:
        scheme, _, address = url.partition("://")
        if not address:
            raise ConfigurationError(f"a gRPC URL is grpc://host:port (got {url!r})")
        key = api_key or os.environ.get("ASSAY_API_KEY")
        self._metadata = (("authorization", f"Bearer {key}"),) if key else ()
        self._address = address
        self._tls = TlsFiles.of(ca_file, client_cert, client_key).read() if scheme == "grpcs" else None
        self._options = [
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", max_bytes),
            *_RECONNECT,
        ]
        self._channel: grpc.aio.Channel | None = None

    def _method(self, name: str, answer: Any, *, stream: bool = False) -> Any:
        if self._channel is None:  # created on the loop that uses it
            credentials = grpc.ssl_channel_credentials(**self._tls) if self._tls is not None else None
            self._channel = (
                grpc.aio.secure_channel(self._address, credentials, self._options)
                if credentials
                else grpc.aio.insecure_channel(self._address, self._options)
            )
        make = self._channel.unary_stream if stream else self._channel.unary_unary
        return make(f"{SERVICE}/{name}", request_serializer=_serialized, response_deserializer=answer.FromString)

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        """Score a request; see `assay.client.Transport`."""
        call = self._method("Score", pb.ScoreResponse)
        try:
            answer = await call(to_request(body), timeout=timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _fault(error) from error
        return json.dumps({"results": [_result(r) for r in answer.results], "stats": _stats(answer.stats)}).encode()

    async def stream(self, body: bytes, *, timeout_s: float | None) -> AsyncIterator[bytes]:
        """Stream results; see `assay.client.Transport`."""
        call = self._method("ScoreStream", pb.ScoreChunk, stream=True)
        try:
            async for chunk in call(to_request(body), timeout=timeout_s, metadata=self._metadata):
                for result in chunk.results:
                    yield json.dumps(_result(result)).encode()
                if chunk.done:
                    yield json.dumps({"done": True, "count": chunk.count}).encode()
        except grpc.aio.AioRpcError as error:
            raise _fault(error) from error

    async def put_reference(self, digest: str, body: bytes) -> None:
        """Raise `ConfigurationError`: references are sent inside the items."""
        raise ConfigurationError("gRPC does not support uploaded references; send them in the items")

    async def get(self, path: str) -> bytes:
        """Return the JSON at `/v1/verifiers`. Raises `ConfigurationError` for other paths."""
        if path != "/v1/verifiers":
            raise ConfigurationError(f"gRPC does not offer {path}")
        call = self._method("Verifiers", pb.VerifiersResponse)
        try:
            answer = await call(pb.VerifiersRequest(), metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise _fault(error) from error
        return json.dumps({"verifiers": [_info(info) for info in answer.verifiers]}).encode()

    async def aclose(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close(None)


def to_request(body: bytes) -> pb.ScoreRequest:
    """Return a JSON ScoreRequest as protobuf, with open-typed values as raw JSON."""
    text = body.decode()
    members, _ = split_object(text, numbers=True)
    request = pb.ScoreRequest()
    for _, start, _ in split_array(text, members["items"][1]):
        request.items.append(_item(text, start))
    if "defaults" in members and members["defaults"][0] is not None:
        request.defaults.CopyFrom(_item(text, members["defaults"][1]))
    if "deadline_s" in members and members["deadline_s"][0] is not None:
        request.deadline_s = members["deadline_s"][0]
    return request


def _item(text: str, at: int) -> pb.Item:
    item = pb.Item()
    members, _ = split_object(text, at, numbers=True)
    for name, (value, start, end) in members.items():
        if value is None and name != "final_state":
            continue
        try:
            _set(item, name, value, text[start:end])
        except (TypeError, ValueError):
            _refuse(name)
    return item


def _set(item: pb.Item, name: str, value: Any, raw: str) -> None:
    if name in _PLAIN:
        setattr(item, name, value)
    elif name in ("reference", "final_state"):
        setattr(item, f"{name}_json", raw.encode())
    elif name in ("completion", "prompt"):
        _set_text(item, "" if name == "completion" else "prompt_", value, raw)
    elif name == "completion_ids":
        item.completion_ids.ids.extend(value)
    elif name == "scores":
        _set_scores(item, value)
    elif name == "options":
        item.options.CopyFrom(pb.Options(**value))
    else:
        _refuse(name)


def _set_text(item: pb.Item, prefix: str, value: Any, raw: str) -> None:
    if not isinstance(value, str):
        setattr(item, f"{prefix}messages_json", raw.encode())
    elif value.isascii() or not any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        setattr(item, f"{prefix}text", value)
    else:
        setattr(item, f"{prefix}messages_json", f'[{{"role":"assistant","content":{raw}}}]'.encode())


def _set_scores(item: pb.Item, scores: Mapping[str, float | None]) -> None:
    for name, value in scores.items():
        item.scores[name].CopyFrom(pb.GivenScore() if value is None else pb.GivenScore(value=value))


def _refuse(name: str) -> NoReturn:
    detail = f"{name[:80]}: not a field of an item, or its type has no protobuf form"
    problem = Problem(type="urn:assay:problem:invalid_item", title="Bad request", status=400, detail=detail, field=name)
    raise RequestRefused(problem)


def _result(message: pb.Result) -> dict[str, Any]:
    """Return a result in the contract's JSON form, with the optional fields that the message has."""
    result: dict[str, Any] = {"id": message.id, **_verdict(message), "reason": message.reason, "flags": []}
    for field, value in message.ListFields():
        if field.name.endswith("_json"):
            result[field.name.removesuffix("_json")] = json.loads(value)
        elif field.name == "span":
            result["span"] = [value.start, value.end]
        elif field.name not in _APART:
            result[field.name] = list(value) if field.name == "flags" else value
    timing = {name: getattr(message.timing, name) for name in ("queue_ms", "run_ms", "cpu_ms")}
    return result | {"timing": timing, "cached": message.cached}


def _verdict(message: pb.Result) -> dict[str, Any]:
    if message.HasField("verdict") and not message.HasField("no_verdict"):
        verdict = message.verdict
        score = verdict.score if verdict.HasField("score") and math.isfinite(verdict.score) else None
        return {"reward": verdict.reward, "score": score, "outcome": _OUTCOMES[verdict.outcome]}
    none = message.no_verdict
    error: dict[str, Any] = {"code": none.code, "message": none.message, "retryable": none.retryable}
    if none.HasField("field"):
        error["field"] = none.field
    return {"reward": None, "score": None, "outcome": "no_verdict", "error": error}


def _stats(stats: pb.Stats) -> dict[str, Any]:
    return {
        "items": stats.items,
        "cached": stats.cached,
        "no_verdict": stats.no_verdict,
        "outcomes": dict(stats.outcomes),
        "wall_ms": stats.wall_ms,
    }


def _info(info: pb.VerifierInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "version": info.version,
        "reads": list(info.reads),
        "sandboxed": info.sandboxed,
        "reference": json.loads(info.reference_schema_json),
        "summary": info.summary,
    }


def _fault(error: grpc.aio.AioRpcError) -> AssayError:
    """Return a status as the client's error, with its problem document if it has one."""
    trailing: dict[str, Any] = dict(_pairs(error.trailing_metadata()))
    problem = _problem(trailing.get("assay-problem-bin"))
    code = error.code()
    if problem is None and code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        problem = _exhausted(str(error.details()))
    if problem is not None:
        return error_of(problem, retry_after_s=_seconds(trailing.get("retry-after")))
    if code in _LATER:
        return ServiceUnavailable(f"no answer: {code.name}")
    return ProtocolError(f"unexpected status {code.name}")


def _exhausted(details: str) -> Problem:
    """Return the problem for a refusal by gRPC itself: the message is too large, or there is no capacity now."""
    if _TOO_LARGE in details:
        return Problem(type="urn:assay:problem:too_large", title="Too large", status=413, detail="message too large")
    return Problem(type="about:blank", title="Too many requests", status=429)


def _seconds(value: Any) -> float | None:
    try:
        return None if value is None else max(float(value), 0.0)
    except ValueError:
        return None


def _pairs(metadata: Iterable[Any] | None) -> Iterable[tuple[str, Any]]:
    return [(key, value) for key, value in metadata or ()]


def _problem(body: Any) -> Problem | None:
    try:
        return Problem.model_validate_json(body) if body else None
    except ValidationError:
        return None


def _serialized(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body
