"""A running jail as the supervisor holds it, and what tells one kind of jail from another."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.sandbox.host import cgroups

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
PROGRAM_ENVIRONMENT = {
    "PATH": "/opt/python/bin:/usr/bin:/bin", "HOME": "/box/w", "TMPDIR": "/tmp", "USER": "user",
    "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1",
}  # fmt: skip
"""The whole environment of every program."""
SYSTEM_PATH = "/usr/bin:/bin:/opt/python/shims"
"""PATH in jails that see the host's toolchains: `python3` is the host's, or else the interpreter's own."""
OWN_MODULES = {
    "program": (".zygote.calls", ".relay.serve", ".zygote.scripts"),
    "tests": (".testing.runner", ".zygote.checkers"),
    "together": (".testing.runner", ".zygote.calls"),
}
"""Modules of the guest that zygotes of a role hold warm."""


@dataclass(frozen=True, kw_only=True)
class JailKind:
    """What a jail is for: jails of different kinds or owners are never shared."""

    image: str
    environment: str
    role: str
    owner: str


@cache
def has_uids_from(base: int) -> bool:
    """Whether jails can get host uids of their own: we are root, and those uids exist in our user namespace."""
    if os.getuid() != 0:
        return False
    rows = [[int(field) for field in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(first <= base and base + 4096 <= first + count for first, _, count in rows)


class Jail:
    """A running jail: its control socket, its process, its control group."""

    def __init__(
        self,
        *,
        control: socket.socket,
        process: subprocess.Popen[bytes],
        group: cgroups.Group | None,
        uid: int,
        log: int,
    ) -> None:
        self.control = control
        self.process = process
        self.group = group
        self.uid = uid
        self._log = log

    def greeted(self) -> bool:
        """Read the zygote's first message once the control socket is readable; return False if the zygote died."""
        try:
            return self.control.recv(64) == b"hello"
        except OSError:
            return False

    def last_log_lines(self) -> str:
        """Return the last four lines that nsjail or the zygote wrote to the log."""
        said = os.pread(self._log, 1 << 20, 0).decode(errors="replace")
        return " | ".join([line for line in said.splitlines() if "no version information" not in line][-4:])

    def alive(self) -> bool:
        """Whether nsjail still runs."""
        return self.process.poll() is None

    def oom_kills(self) -> int:
        """Processes of this jail killed for memory so far; where it has no control group, of all jails together."""
        return self.group.oom_kills() if self.group else cgroups.kills_here()

    def close(self) -> None:
        """End the jail and everything in it; wait until it is gone."""
        self.control.close()  # the zygote ends at end of file
        if self.alive():
            self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            if self.group:
                self.group.destroy()
            self.process.kill()
            self.process.wait()
        if self.group:
            self.group.destroy()
        os.close(self._log)


def entering(group: cgroups.Group | None, *, uid: int | None = None) -> Callable[[], None]:
    """Return what a child does before it becomes a jail: enter its group, take its uid, and end with its parent."""
    files = group.join_files() if group else ()

    def enter() -> None:
        for path in files:
            with open(path, "w") as file:
                file.write("0")
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    return enter
