"""What the engine and a lane say to each other: length-prefixed msgpack on a socketpair of their own.

A chunk carries each distinct reference once. A lane reports every item; which item it is at, in which
phase and since when it writes into a page of shared memory (`Page`), so that a death or an overrun has
an owner even where the last reports never left.
"""

from __future__ import annotations

import mmap
import struct
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

LENGTH = struct.Struct("<I")


class Job(Struct, array_like=True):
    """One item for a lane: text, or the JSON of messages. `canary`: judge an empty answer instead."""

    seq: int
    verifier: str
    reference: bytes
    text: str | None
    messages: bytes | None
    fields: dict[str, bytes]
    budget_s: float
    """CPU seconds that `verify` may use in the lane."""
    cpu_s: float | None
    timeout_s: float | None
    """The item's own limits, where it carries some."""
    owner: str
    explain: bool = False
    canary: bool = False
    algebra: bool = False
    """Whether computer algebra may run in the lane that gets the job."""


class Chunk(Struct, array_like=True):
    """Jobs, in order, and the references that they name by digest."""

    references: dict[bytes, bytes]
    jobs: list[Job]


class Kind(IntEnum):
    """What became of a job in a lane that lived to tell."""

    VERDICT = 0
    NO_VERDICT = 1
    OVERRUN = 2
    FAILED = 3
    NEEDS_SANDBOX = 4
    NEEDS_ALGEBRA = 5


class ErrorFrame(Struct, array_like=True):
    """Why there is no verdict: `error` of a result (`assay.contract.result.ErrorInfo`)."""

    code: str
    message: str
    retryable: bool
    field: str | None = None

    def public(self) -> dict[str, Any]:
        """Return the object that goes into a result."""
        error = {"code": self.code, "message": self.message, "retryable": self.retryable}
        return error if self.field is None else {**error, "field": self.field}


class Report(Struct, array_like=True):
    """What a lane says of one job.

    `fields` holds the optional fields of a verdict by their names in the contract: `bytes` are JSON, anything
    else is a plain value. Whatever handles a report after the lane passes them on without knowing them.
    """

    seq: int
    kind: Kind
    reward: float | None = None
    score: float | None = None
    reason: str = ""
    fields: dict[str, Any] = {}
    error: ErrorFrame | None = None
    run_us: int = 0
    cpu_us: int = 0


class Reports(Struct, array_like=True):
    """Some jobs' reports. `retire`: the lane ends after this, by its own wish.

    `returned`: jobs of the chunk that the lane gives back, because the one at hand takes long.
    """

    reports: list[Report]
    rss_kb: int = 0
    retire: bool = False
    returned: list[int] = []


class Hello(Struct, array_like=True):
    """A lane's first word: what it can verify (JSON of `VerifierInfo`s and budgets), or why it cannot start."""

    catalogue: bytes = b""
    error: str = ""


class LaneOptions(Struct, array_like=True):
    """How a lane is to be: sent with the order to start it."""

    number: int
    """The engine's name for it."""
    plugins: list[str]
    memory_mb: int
    catalogue: bool
    sandbox: bool
    algebra: bool = False


class Phase(IntEnum):
    """Where in an item a lane is."""

    IDLE = 0
    PREPARE = 1
    VERIFY = 2


class Moment(NamedTuple):
    """What the page says: the item, its phase, and the lane's CPU clock when the phase began."""

    seq: int
    phase: Phase
    cpu_ns: int
    wall_ns: int
    cpu_s: float
    wall_s: float


class Page:
    """A page of memory that a lane writes and the engine reads."""

    _LAYOUT = struct.Struct("<qqqqdd")

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, mmap.PAGESIZE)

    def write(self, moment: tuple[int, int, int, int, float, float]) -> None:
        """Say where the lane is."""
        self._LAYOUT.pack_into(self._map, 0, *moment)

    def read(self) -> Moment:
        """Where the lane is (or was when it died)."""
        seq, phase, cpu_ns, wall_ns, cpu_s, wall_s = self._LAYOUT.unpack_from(self._map, 0)
        return Moment(seq, Phase(phase), cpu_ns, wall_ns, cpu_s, wall_s)

    def close(self) -> None:
        """Let go of the memory."""
        self._map.close()


def pack(message: Struct) -> bytes:
    """A frame: its length, then msgpack."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body
