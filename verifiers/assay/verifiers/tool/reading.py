"""Read a completion: its calls and failed attempts in order, and the results that the environment recorded.

Every assistant message is read: its `tool_calls`, and its text in the row's syntax, without thinking. Thinking that
never closes leaves no text. A `tool` message counts only if its id answers an earlier call, and belongs to the latest
such call. Text that the model wrote is never a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.candidate import Candidate, Message, thinking_end
from assay.verifiers.tool.attempts import MAX_CALLS, Attempt, Fault, Options
from assay.verifiers.tool.prose import has_prose
from assay.verifiers.tool.scanner import checked_call, decoded, exact_numbers
from assay.verifiers.tool.syntaxes import read_text
from assay.verifiers.tool.thinking import read_after_thinking


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A result recorded by the environment: the call that it answers, and its text."""

    call: Attempt
    text: str

    @cached_property
    def value(self) -> tuple[Any] | None:
        """Return the text's JSON value in a 1-tuple, or None if it is not JSON."""
        try:
            return (strict_json.value_of(self.text),)
        except strict_json.JsonFault:
            return None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The calls, failed attempts and results of a completion. `unfinished`: the last thinking never closed. `prose`:
    there is text beside the calls and their markup, thinking apart.
    """

    attempts: tuple[Attempt, ...]
    results: tuple[Recorded, ...]
    unfinished: bool
    prose: bool = False

    @cached_property
    def calls(self) -> list[Attempt]:
        """The attempts that are calls."""
        return [attempt for attempt in self.attempts if attempt.ok]

    @cached_property
    def failures(self) -> list[Attempt]:
        """The attempts that failed."""
        return [attempt for attempt in self.attempts if not attempt.ok]


def read(candidate: Candidate, *, syntax: str, options: Options, keep_thinking: bool = False) -> Reply:
    """Read all messages of a completion."""
    attempts: list[Attempt] = []
    results: list[Recorded] = []
    by_id: dict[str, Attempt] = {}
    prefill, unfinished, prose = candidate.prefill, False, False
    for index, message in enumerate(candidate.messages):
        if message.role == "assistant":
            found = _of_entries(message, index, options)
            in_text, start = _of_text(message, prefill, keep_thinking, syntax, options)
            unfinished = start is None
            prose = prose or (start is not None and has_prose(message.content or "", start, in_text))
            found += [_at(attempt, index) if index else attempt for attempt in in_text]
            prefill = ""
            attempts += found
            by_id.update((attempt.id, attempt) for attempt in found if attempt.id is not None)
        elif message.role == "tool" and message.tool_call_id in by_id:
            results.append(Recorded(call=by_id[message.tool_call_id], text=message.content or ""))
    return Reply(attempts=tuple(attempts), results=tuple(results), unfinished=unfinished, prose=prose)


def _of_text(
    message: Message, prefill: str, keep_thinking: bool, syntax: str, options: Options
) -> tuple[list[Attempt], int | None]:
    """Return the attempts in the message's text, and where it starts after the thinking: None if that never ended."""
    text = message.content or ""
    if not text:
        return [], thinking_end("", prefill=prefill)
    if keep_thinking:
        return read_text(text, syntax, options), 0
    return read_after_thinking(text, prefill, lambda start: read_text(text, syntax, options, start=start))


def _of_entries(message: Message, index: int, options: Options) -> list[Attempt]:
    found = [_of_entry(entry, index, options) for entry in (message.tool_calls or ())[:MAX_CALLS]]
    if len(message.tool_calls or ()) > MAX_CALLS:
        found.append(Attempt(reason="too_many", message=index))
    return found


def _at(attempt: Attempt, index: int) -> Attempt:
    return Attempt(
        name=attempt.name, args=attempt.args, reason=attempt.reason, span=attempt.span, message=index, id=attempt.id
    )


def _of_entry(entry: Mapping[str, Any], index: int, options: Options) -> Attempt:
    """Read one entry of `tool_calls`: `{id, function: {name, arguments}}`, with arguments as JSON text or an object."""
    given = entry.get("id")
    call_id = given if isinstance(given, str) else None
    function = entry.get("function", entry)
    try:
        if not isinstance(function, Mapping):
            raise Fault("markup")
        args = function.get("arguments")
        args = decoded(args) if isinstance(args, str) else exact_numbers(args)
        return checked_call(function.get("name"), args, options, message=index, id=call_id)
    except Fault as fault:
        return Attempt(reason=fault.reason, message=index, id=call_id)
