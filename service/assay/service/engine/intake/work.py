"""Items after intake: `Work` is fit to be scored, `Refused` is not; a batch holds both."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.service.engine.intake.frames import FIELDS, OptionsFrame
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import Report

FORWARDED = tuple(
    name
    for name in FIELDS
    if name not in {"id", "verifier", "completion", "reference", "group", "run", "step", "options"}
)
"""Fields of an item that a verifier may read besides the completion."""

_OVERHEAD = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifierFacts:
    """What the front process knows of a verifier without importing it; a lane sends it at start."""

    name: str
    version: int
    reads: frozenset[str]
    sandboxed: bool
    cpu_s: float
    may_sandbox: bool = False
    repeatable: bool = True
    label: str = field(init=False)
    """`name@version`, as results carry it."""
    kind: LaneKind = field(init=False)
    """The kind of lane that its items go to first."""
    forwarded: tuple[str, ...] = field(init=False)
    """The fields besides completion and reference that it reads."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.name}@{self.version}")
        object.__setattr__(self, "kind", LaneKind.SANDBOX if self.sandboxed else LaneKind.TEXT)
        object.__setattr__(self, "forwarded", tuple(name for name in FORWARDED if name in self.reads))


@dataclass(slots=True)
class Refused:
    """An item that has its report before anything ran: it is at fault itself, or its completion is too large."""

    id: str
    report: Report
    verifier: str = ""
    """The verifier as the item names it, cut to a bounded length."""
    digest: str = ""
    """SHA-256, in hex, of the uploaded reference that is not here."""


@dataclass(kw_only=True, slots=True, eq=False)
class Work:
    """One item, validated as far as the front process may look. JSON fields are the bytes that were sent."""

    id: str
    facts: VerifierFacts
    completion: str | bytes
    """The text, or the JSON of the messages."""
    reference: bytes
    reference_digest: bytes
    """SHA-256 of the reference's bytes."""
    fields: dict[str, bytes]
    owner: str
    group: str | None
    run: str
    options: OptionsFrame
    truncated: bool = False
    flags: tuple[str, ...] = ()
    key: bytes = b""
    """The item key, once it is known."""
    fingerprint: bytes = b""
    """The sandbox's fingerprint that the key was made with."""
    size: int = field(init=False)
    """Approximate bytes that it holds while it waits."""

    def __post_init__(self) -> None:
        fields = sum(map(len, self.fields.values())) if self.fields else 0
        self.size = len(self.completion) + len(self.reference) + fields + _OVERHEAD

    @property
    def budget_s(self) -> float:
        """CPU seconds that its verdict may take in the lane; the sandbox limits programs itself."""
        return self.facts.cpu_s if self.facts.sandboxed else self.options.cpu_s or self.facts.cpu_s


@dataclass(kw_only=True)
class Batch:
    """The items of one request, in order."""

    entries: list[Work | Refused]
    owner: str
    deadline_s: float | None = None
