"""Answers read back: every id exactly once, each result kept as its own JSON text beside its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from assay.client.errors import ProtocolError
from assay.contract.rawjson import NotJson, split_array, split_object
from assay.contract.result import Result

_FIRST = re.compile(r'\s*\{\s*"results"\s*:\s*').match


@dataclass(frozen=True)
class Answer:
    """One result: its JSON object as the service wrote it, and decoded."""

    id: str
    text: str
    fields: dict[str, Any]

    @property
    def error_code(self) -> str | None:
        """Code of the error of a no-verdict."""
        error = self.fields.get("error")
        return error.get("code") if isinstance(error, dict) else None

    @property
    def retryable(self) -> bool:
        """Whether it is a null that may become a verdict if the item is sent again."""
        error = self.fields.get("error")
        return isinstance(error, dict) and error.get("retryable") is True

    def result(self) -> Result:
        """The result as a model. Raises `ProtocolError`."""
        try:
            return Result.model_validate(self.fields)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise ProtocolError(f"a result is not the contract's (field {where})") from None


def read_answers(body: bytes) -> list[Answer]:
    """The results of a ScoreResponse. Raises `ProtocolError`."""
    try:
        text = body.decode()
        start = _results(text)
        return [_answer(value, text[begin:end]) for value, begin, end in split_array(text, start)]
    except (NotJson, UnicodeDecodeError) as error:
        raise ProtocolError(f"the answer is not a ScoreResponse: {error}") from None


def _results(text: str) -> int:
    """Where the array of results starts: first in the object, as services write it, or anywhere."""
    first = _FIRST(text)
    if first is not None and text.rstrip().endswith("}"):
        return first.end()
    members, _ = split_object(text)
    if "results" not in members:
        raise NotJson("no results")
    return members["results"][1]


def read_line(line: bytes) -> Answer | int:
    """A line of a stream: a result, or the count of the last line. Raises `ProtocolError`."""
    try:
        text = line.decode()
        members, end = split_object(text, numbers=True)
        if text[end:].strip():
            raise NotJson("text after the object")
    except (NotJson, UnicodeDecodeError) as error:
        raise ProtocolError(f"a line of the stream is not JSON: {error}") from None
    fields = {name: value for name, (value, _, _) in members.items()}
    if fields.get("done") is True and isinstance(fields.get("count"), int):
        return int(fields["count"])
    return _answer(fields, text[:end])


def by_id(answers: Iterable[Answer], asked: Sequence[str]) -> dict[str, Answer]:
    """The answers by id. Raises `ProtocolError` unless every id asked for came back exactly once."""
    found: dict[str, Answer] = {}
    for answer in answers:
        if answer.id in found:
            raise ProtocolError("an id came back twice")
        found[answer.id] = answer
    if found.keys() != set(asked):
        raise ProtocolError(f"{len(asked)} results were asked for, {len(found)} came back, ids differ")
    return found


def _answer(value: Any, text: str) -> Answer:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or "reward" not in value:
        raise ProtocolError("a result without id or reward")
    return Answer(value["id"], text, value)
