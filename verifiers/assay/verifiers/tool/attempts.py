"""The calls in a text or message, and failed attempts at calls, each with a reason and a span.

A failed attempt is neither a call nor an abstention, so a parser must distinguish all three. Reasons: `unclosed`
`invalid_json` `duplicate_key` `missing_name` `arguments` (not a JSON object) `markup` `literal` (not a Python literal)
`too_many` (nothing after it was read).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_CALLS = 256
"""Maximum number of calls read per message; the next one is a failed attempt, `too_many`."""
MAX_FAILURES = 16
"""Maximum number of failed attempts read per message: bounds the passes over hostile text."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call or, if `reason` is set, one failed attempt. `span` counts code points of its message."""

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
    """An attempt failed for `reason`. Raised and caught only inside the parsers."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ReadLimitReached(Exception):
    """The limit of attempts is reached; the rest of the message is not read."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A declared tool: the JSON Schema of its arguments, and whether it is read-only."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False
    types: dict[str, frozenset[str]] = field(default_factory=dict, compare=False)
    """The types that `parameters` allows for each argument, cached on first use."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a row wants attempts read. `tools` is None if the row declares none; `other` stands for any undeclared
    tool.
    """

    tools: Mapping[str, Tool] | None = None
    other: Tool | None = None
    lenient: bool = False
    decode_strings: bool = False

    def tool(self, name: str) -> Tool | None:
        """Return the tool by whose schema arguments are read, or None."""
        return (self.tools or {}).get(name, self.other)

    def declared(self, name: str) -> bool:
        """Return whether a tool of that name is declared."""
        return self.tools is not None and name in self.tools
