"""The supervisor as its user sees it: a process of its own that owns every jail.

    supervisor = Supervisor.start(Settings(slots=2))
    fd = supervisor.connect()          # hand it to a lane, in ASSAY_SANDBOX_FD
    supervisor.isolation()             # what holds on this host
    supervisor.close()

One connection is one slot: one item at a time. Closing it (or dying) kills what runs in the slot. The process has a
listed environment, without the caller's secrets. It ends with its parent; if it dies, `alive` says so and the user
starts another.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from typing import Any

from assay.sandbox.errors import Unavailable
from assay.sandbox.host import cgroups, packets, surroundings
from assay.sandbox.settings import Settings

_START_TIMEOUT_S = 120.0
_CALL_TIMEOUT_S = 30.0


class Supervisor:
    """Handle of a supervisor process. Thread-safe."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, report: dict[str, Any]) -> None:
        self._process = process
        self._control = control
        self._lock = threading.Lock()
        self._report = report

    @classmethod
    def start(cls, settings: Settings | None = None) -> Supervisor:
        """Install environments, start the process, let it prove its backend. Raises `Unavailable` saying why not."""
        settings = (settings or Settings()).installed()
        control, its_end = packets.pair()
        with its_end:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "assay.sandbox.host.supervise",
                    str(its_end.fileno()),
                    str(os.getpid()),
                    settings.to_json(),
                ],
                env=surroundings.for_supervisor(),
                pass_fds=[its_end.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        control.settimeout(_START_TIMEOUT_S)
        try:
            report, _ = packets.receive(control)
        except Unavailable:
            _end(process, control)
            raise Unavailable("the sandbox supervisor did not start") from None
        control.settimeout(_CALL_TIMEOUT_S)
        if "error" in report:
            _end(process, control)
            raise Unavailable(report["error"])
        return cls(process, control, report)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the supervisor."""
        return self._process.pid

    def isolation(self) -> dict[str, Any]:
        """The self-test's report: backend, what holds, languages, environments, fingerprint."""
        return self._report

    def fingerprint(self) -> str:
        """Digest of backend, interpreter, guest code, seccomp profile, toolchains and environments."""
        return str(self._report["fingerprint"])

    def connect(self) -> int:
        """A descriptor that is one slot's channel. Raises `Unavailable`."""
        lane_end, its_end = packets.pair()
        with lane_end, its_end, self._lock:
            packets.send(self._control, {"do": "slot"}, [its_end.fileno()])
            answer, _ = packets.receive(self._control)
            if "error" in answer:
                raise Unavailable(answer["error"])
            return lane_end.detach()

    def close(self) -> None:
        """End every jail and the process."""
        _end(self._process, self._control)
        with contextlib.suppress(OSError):
            hierarchy = cgroups.find()
            if hierarchy:
                cgroups.sweep(hierarchy)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Close the control socket, at which the process ends by itself; kill it if it does not."""
    control.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
