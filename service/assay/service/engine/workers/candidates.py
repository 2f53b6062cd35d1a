"""In a lane: the bytes of a job as the `Candidate` that a verifier sees. Ill-formed fields raise InvalidItem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.service.engine.protocol import Job
from assay.verifiers import Candidate, InvalidItem, Message, strict_json

_OPTIONAL_TEXT = ("tool_call_id", "name", "reasoning_content")


def candidate_of(job: Job) -> Candidate:
    """Return the candidate of a job. Raises InvalidItem, naming the field."""
    fields = {name: _value(name, raw) for name, raw in job.fields.items()}
    prompt = fields.get("prompt")
    return Candidate(
        messages=_completion("", None) if job.canary else _completion(job.text, job.messages),
        prefill=_typed(fields, "prefill", str, ""),
        prompt=_messages(prompt, "prompt") if isinstance(prompt, list) else _typed(fields, "prompt", str, None),
        completion_tokens=_typed(fields, "completion_tokens", int, None),
        completion_ids=_ids(fields.get("completion_ids")),
        scores=_scores(fields.get("scores")),
        final_state=fields.get("final_state"),
        has_final_state="final_state" in fields,
        truncated=_typed(fields, "truncated", bool, False),
        options={"timeout_s": job.timeout_s, "cpu_s": job.cpu_s},
        owner=job.owner,
        explain=job.explain,
        algebra=job.algebra,
    )


def _value(name: str, raw: bytes) -> Any:
    """Return the value of a field. Raises InvalidItem for faulty JSON.

    In `completion` and `prompt` a number beyond a float's range is accepted, and the verifier decides what it means;
    in other fields it raises OverflowError.
    """
    try:
        value = strict_json.parse(raw)
        return strict_json.plain(value) if name in ("completion", "prompt") else finite(value)
    except strict_json.JsonFault as fault:
        raise InvalidItem(f"{name}: {fault.detail}", field=name) from None


def finite(value: Any) -> Any:
    """Return a parsed value; a number is a `Lexeme` (its text) where a float would lose digits.

    Raises OverflowError for a number beyond a float's range.
    """
    value = strict_json.plain(value)
    if strict_json.holds_lexemes(value, infinite=True):
        raise OverflowError("a number out of a float's range")
    return value


def _completion(text: str | None, messages: bytes | None) -> tuple[Message, ...]:
    if messages is None:
        return (Message(role="assistant", content=text),)
    return _messages(_value("completion", messages), "completion")


def _messages(value: Any, field: str) -> tuple[Message, ...]:
    if not isinstance(value, list):
        raise InvalidItem(f"{field}: a list of messages", field=field)
    return tuple(_message(entry, f"{field}[{index}]") for index, entry in enumerate(value))


def _message(entry: Any, field: str) -> Message:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("role"), str):
        raise InvalidItem(f"{field}: a message with a role", field=field)
    calls = entry.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(c, Mapping) for c in calls)):
        raise InvalidItem(f"{field}.tool_calls: a list of objects", field=f"{field}.tool_calls")
    texts = {name: _typed(entry, name, str, None, prefix=f"{field}.") for name in _OPTIONAL_TEXT}
    return Message(role=entry["role"], content=_content(entry.get("content"), field), tool_calls=calls, **texts)


def _content(value: Any, field: str) -> str | None:
    """Return the text of a message; OpenAI's list of text parts is joined."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(p, Mapping) and p.get("type") == "text" and isinstance(p.get("text"), str) for p in value
    ):
        return "".join(part["text"] for part in value)
    raise InvalidItem(f"{field}.content: a string, or a list of text parts", field=f"{field}.content")


def _typed(fields: Mapping[str, Any], name: str, kind: type, default: Any, *, prefix: str = "") -> Any:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidItem(f"{prefix}{name}: not of type {kind.__name__}", field=prefix + name)
    return value


def _ids(value: Any) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(v) is int for v in value):
        raise InvalidItem("completion_ids: a list of integers", field="completion_ids")
    return value


def _scores(value: Any) -> dict[str, float | None]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(v is None or _is_number(v) for v in value.values()):
        raise InvalidItem("scores: an object of numbers or null", field="scores")
    return value


def _is_number(value: Any) -> bool:
    """Return whether the value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
