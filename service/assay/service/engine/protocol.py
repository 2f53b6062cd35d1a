"""Messages between the engine and a lane: length-prefixed msgpack on a socketpair.

A chunk carries each distinct reference once. A lane reports every item. It writes its current item, phase and start
time into a page of shared memory (`Page`), so that a death or an overrun can be attributed even where the last
reports were never sent.
"""

from __future__ import annotations

import mmap
import struct
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.contract.codes import Flag, Reason

LENGTH = struct.Struct("<I")


class Job(Struct, array_like=True):
    """One item for a lane: text, or the JSON of messages. `canary`: verify an empty completion instead."""

    seq: int
    verifier: str
    reference_digest: bytes
    """SHA-256 of the reference, which the chunk holds under this key."""
    text: str | None
    messages: bytes | None
    fields: dict[str, bytes]
    budget_s: float
    """CPU seconds that `verify` may use in the lane."""
    cpu_s: float | None
    """`options.cpu_s` of the item: CPU seconds of each program that it runs."""
    timeout_s: float | None
    """`options.timeout_s` of the item: wall seconds of each program that it runs."""
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
    """How a job ended in a lane that survived it."""

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
    """The report of a lane on one job.

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

    @property
    def lasting(self) -> bool:
        """Whether the same item would get this report again, so that it may be cached and shared."""
        flags = self.fields.get("flags") or ()
        return self.reward is not None and self.reason != Reason.UNDECIDED and Flag.KILLED not in flags


class Reports(Struct, array_like=True):
    """Reports of some jobs. `retire`: the lane ends after this message.

    `returned`: queued jobs that the lane returned because the current one is slow.
    """

    reports: list[Report]
    rss_kb: int = 0
    retire: bool = False
    returned: list[int] = []


class Hello(Struct, array_like=True):
    """The first message of a lane: what it can verify (JSON of `VerifierInfo`s and budgets), or why it cannot start."""

    catalogue: bytes = b""
    error: str = ""


class LaneOptions(Struct, array_like=True):
    """Options of a lane, sent with the order to start it."""

    number: int
    """The engine's number for it."""
    plugins: list[str]
    memory_mb: int
    catalogue: bool
    sandbox: bool
    algebra: bool = False


class Phase(IntEnum):
    """The phase of an item."""

    IDLE = 0
    PREPARE = 1
    VERIFY = 2


class Moment(NamedTuple):
    """The content of the page: the item, its phase, and the lane's clocks when the phase began."""

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
        """Record the lane's current item and phase."""
        self._LAYOUT.pack_into(self._map, 0, *moment)

    def read(self) -> Moment:
        """Return the lane's current item and phase, or the last ones if it is dead."""
        seq, phase, cpu_ns, wall_ns, cpu_s, wall_s = self._LAYOUT.unpack_from(self._map, 0)
        return Moment(seq, Phase(phase), cpu_ns, wall_ns, cpu_s, wall_s)

    def close(self) -> None:
        """Release the memory."""
        self._map.close()


def pack(message: Struct) -> bytes:
    """Return a frame: its length, then msgpack."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body
