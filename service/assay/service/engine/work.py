"""Work: an item that is fit to be scored; a fault: one that is not; a batch of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from assay.service.engine.frames import OptionsFrame


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifierFacts:
    """What the front knows of a verifier without importing it; a lane tells it at start."""

    name: str
    version: int
    reads: frozenset[str]
    sandboxed: bool
    cpu_s: float

    @cached_property
    def label(self) -> str:
        """`name@version`, as results carry it."""
        return f"{self.name}@{self.version}"


@dataclass(slots=True)
class Fault:
    """An item that gets no verdict before anything ran."""

    id: str
    code: str
    message: str
    field: str | None = None
    retryable: bool = False
    verifier: str = ""


@dataclass(kw_only=True)
class Work:
    """One item, validated as far as the front goes. JSON fields are the bytes that were sent."""

    id: str
    facts: VerifierFacts
    completion: str | bytes
    """The text, or the JSON of the messages."""
    reference: bytes
    fields: dict[str, bytes]
    owner: str
    group: str | None
    run: str
    options: OptionsFrame
    truncated: bool = False
    flags: tuple[str, ...] = ()

    @cached_property
    def reference_digest(self) -> bytes:
        """SHA-256 of the reference's bytes."""
        return sha256(self.reference).digest()

    @cached_property
    def size(self) -> int:
        """Bytes, about, that it holds while it waits."""
        return len(self.completion) + len(self.reference) + sum(map(len, self.fields.values())) + 200

    @property
    def cpu_s(self) -> float:
        """CPU seconds that its verdict may cost."""
        return self.options.cpu_s or self.facts.cpu_s


@dataclass(kw_only=True)
class Batch:
    """What one request asks for, in order."""

    entries: list[Work | Fault]
    owner: str
    deadline_s: float | None = None
    strict: bool = field(default=False)
