"""What a text or message holds: calls, and attempts that failed, each with a reason and where it stands.

A failed attempt is neither a call nor an abstention, so a parser must tell all three apart. Reasons:
`unclosed` `invalid_json` `duplicate_key` `missing_name` `arguments` (no JSON object) `markup` `literal`
(not a literal of Python) `too_many` (nothing after it was read).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_CALLS = 256
"""Calls read of one message; the next one is a failed attempt, `too_many`."""
MAX_FAILURES = 16
"""Failed attempts read of one message: what bounds the passes over hostile text."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call, or (`reason` set) one attempt that failed. `span` counts code points of its message."""

    name: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    span: tuple[int, int] | None = None
    message: int = 0
    id: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it is a call."""
        return self.reason is None


class Fault(Exception):
    """An attempt failed for `reason`. Raised and caught within the parsers only."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Enough(Exception):
    """No more of this message is read."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A declared tool: the JSON Schema of its arguments, and whether calling it changes nothing."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False
    types: dict[str, frozenset[str]] = field(default_factory=dict, compare=False)
    """The types that `parameters` allows an argument, as far as they have been looked up."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a row wants attempts read. `tools` is None where the row declares none; `other` is any tool beside them."""

    tools: Mapping[str, Tool] | None = None
    other: Tool | None = None
    lenient: bool = False
    decode_strings: bool = False

    def tool(self, name: str) -> Tool | None:
        """What is known of a tool, to read its arguments by."""
        return (self.tools or {}).get(name, self.other)

    def declared(self, name: str) -> bool:
        """Whether a tool of that name is declared."""
        return self.tools is not None and name in self.tools
