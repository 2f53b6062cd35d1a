"""What to run (`RunSpec`) and the result of a run (`RunResult`)."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from signal import SIGKILL
from typing import Any

from assay.sandbox.limits import Limits


class Status(enum.StrEnum):
    """What ended a run, in order of precedence."""

    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    RUNTIME_ERROR = "runtime_error"
    OK = "ok"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run of one program, in a fresh namespace of its own.

    `action` names what the guest does: a key of `guest.zygote.payload.ACTIONS` (`script`, `exec`, `calls`, `serve`,
    `tests`, `scripts`, `check`, `interact`). `head` holds that action's fields; `blobs` are the bytes they refer to by
    index. `stdin` is given whole.
    `outputs` counts further pipes that the program writes (descriptors 3, 4, …), each bounded by
    `output_bytes`; after them come copies of the files behind `copies`, then `descriptors`. `stdin` and
    `stdout` may be descriptors, so that two runs can talk. `image` is `python` or `system` (toolchains of
    the host); `environment` names a set of packages. `role` keeps programs and checkers in different
    jails. `fresh`: a new jail for this run, gone after it.
    """

    action: str
    head: Mapping[str, Any] = field(default_factory=dict)
    blobs: Sequence[bytes] = ()
    stdin: bytes | int = b""
    stdout: int | None = None
    limits: Limits = field(default_factory=Limits)
    outputs: int = 0
    output_bytes: int = 8 << 20
    copies: tuple[int, ...] = ()
    descriptors: tuple[int, ...] = ()
    image: str = "python"
    environment: str = "plain"
    role: str = "program"
    owner: str = ""
    fresh: bool = False


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of a run. Times in seconds, memory in KiB (peak resident set of the main process).

    `exit_code` or `signal` says how the main process ended; both None where it was stopped.
    `delay_s`: how long a run that timed out had stood ready without a CPU. `jail_lost`: the jail died with it.
    """

    status: Status
    exit_code: int | None
    signal: int | None
    wall_s: float
    cpu_s: float
    memory_kb: int
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    outputs: tuple[bytes, ...] = ()
    delay_s: float = 0.0
    jail_lost: bool = False

    @property
    def unexplained(self) -> bool:
        """Whether it was killed, or its jail was, and neither its limits nor the supervisor account for that.

        A process outside may have killed it, or the program itself: a single death tells nothing.
        """
        return self.status is Status.RUNTIME_ERROR and (self.jail_lost or self.signal == SIGKILL)

    @property
    def ok(self) -> bool:
        """The program ended by itself with exit code 0, within its limits."""
        return self.status is Status.OK
