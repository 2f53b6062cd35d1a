"""One completion as a verifier sees it.

The scored text of exact, math, code, schema and format is the `content` of the last assistant message; a string
completion is that content. Thinking is everything before the last `</think>` of `prefill` + completion. If thinking is
opened and never closed, there is no answer text; without a think tag there is no thinking. Spans count code points of
the scored text (without the prefill).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_OPEN, _CLOSE = "<think>", "</think>"


@dataclass(slots=True, kw_only=True)
class Message:
    """A chat message of the completion, written by the model (`assistant`) or the environment (`tool`)."""

    role: str
    content: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning_content: str | None = None


@dataclass(slots=True)
class Answer:
    """The part of the scored text after the thinking, and its offset in the scored text."""

    text: str
    offset: int
    message: int


@dataclass(kw_only=True, eq=False)
class Candidate:
    """The item fields that a verifier may read. Verifiers never change them; fields not declared in `reads` are unset.

    Not frozen because one is made for every item, and a frozen dataclass costs a call per field.
    """

    messages: tuple[Message, ...]
    prefill: str = ""
    prompt: str | tuple[Message, ...] | None = None
    completion_tokens: int | None = None
    completion_ids: Sequence[int] | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    final_state: Any = None
    has_final_state: bool = False
    truncated: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    algebra: bool = True
    """Whether computer algebra may run here; if not, a verifier that needs it raises `NeedsAlgebra`."""
    owner: str = ""
    """The item's owner (a hash of the API key). A jail never serves two owners."""

    @classmethod
    def of(cls, text: str, **fields: Any) -> Candidate:
        """Return a candidate whose completion is one string."""
        return cls(messages=(Message(role="assistant", content=text),), **fields)

    @cached_property
    def message_index(self) -> int:
        """Index of the scored message, or -1 if there is no assistant message."""
        last = len(self.messages) - 1
        if last >= 0 and self.messages[last].role == "assistant":
            return last
        return next((i for i in range(last, -1, -1) if self.messages[i].role == "assistant"), -1)

    @cached_property
    def text(self) -> str:
        """The scored text, including thinking."""
        return (self.messages[self.message_index].content or "") if self.message_index >= 0 else ""

    @cached_property
    def answer(self) -> Answer | None:
        """The scored text after the thinking, or None if the thinking never closed."""
        text = self.text
        offset = thinking_end(text, prefill=self.prefill)
        return None if offset is None else Answer(text[offset:] if offset else text, offset, self.message_index)


def thinking_end(text: str, *, prefill: str = "") -> int | None:
    """Return the offset in `text` where the answer starts, or None if thinking was opened (again) and never closed."""
    joined = prefill + text
    close = joined.rfind(_CLOSE)
    start = close + len(_CLOSE) if close >= 0 else 0
    return None if joined.find(_OPEN, start) >= 0 else max(0, start - len(prefill))
