"""A running jail as the supervisor holds it, and what tells one kind of jail from another."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass

from assay.sandbox import cgroups


@dataclass(frozen=True, kw_only=True)
class JailKind:
    """What a jail is for: jails of different kinds or owners are never shared."""

    image: str
    environment: str
    role: str
    owner: str


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
        """Read the zygote's first word once the control socket is readable; False if it died."""
        try:
            return self.control.recv(64) == b"hello"
        except OSError:
            return False

    def complaint(self) -> str:
        """The last lines that nsjail or the zygote wrote."""
        said = os.pread(self._log, 1 << 20, 0).decode(errors="replace")
        return " | ".join([line for line in said.splitlines() if "no version information" not in line][-4:])

    def alive(self) -> bool:
        """Whether nsjail still runs."""
        return self.process.poll() is None

    def oom_kills(self) -> int:
        """Processes of this jail killed for memory so far (0 where there is no control group)."""
        return self.group.oom_kills() if self.group else 0

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
