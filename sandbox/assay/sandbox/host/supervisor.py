"""The supervisor as its user sees it: a process of its own that owns every jail.

    supervisor = Supervisor.start(Settings(slots=2))
    fd = supervisor.connect()          # hand it to a lane, in ASSAY_SANDBOX_FD
    supervisor.isolation()             # what holds on this host
    supervisor.close()

One connection is one slot: one item at a time. Closing it (or dying) kills what runs in the slot.
The process ends with its parent; if it dies, `alive` says so and the user starts another.
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
from assay.sandbox.host import cgroups
from assay.sandbox.host import packets as wire
from assay.sandbox.settings import Settings

_START_TIMEOUT_S = 120.0
_CALL_TIMEOUT_S = 30.0


class Supervisor:
    """Handle of a supervisor process. Thread-safe."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._lock = threading.Lock()
        self._isolation: dict[str, Any] = {}

    @classmethod
    def start(cls, settings: Settings | None = None) -> Supervisor:
        """Install environments, start the process, let it prove its backend. Raises `Unavailable` saying why not."""
        settings = (settings or Settings()).installed()
        ours, theirs = wire.pair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "assay.sandbox.host.supervise", str(theirs.fileno()), str(os.getpid()),
                 settings.to_json()],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        supervisor = cls(process, ours)
        ours.settimeout(_START_TIMEOUT_S)
        try:
            hello, _ = wire.receive(ours)
        except Unavailable:
            supervisor.close()
            raise Unavailable("the sandbox supervisor did not start") from None
        ours.settimeout(_CALL_TIMEOUT_S)
        if "error" in hello:
            supervisor.close()
            raise Unavailable(hello["error"])
        supervisor._isolation = hello
        return supervisor

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
        return self._isolation

    def fingerprint(self) -> str:
        """Digest of backend, interpreter, guest code, policy, toolchains and environments."""
        return str(self._isolation["fingerprint"])

    def connect(self) -> int:
        """A descriptor that is one slot's channel. Raises `Unavailable`."""
        ours, theirs = wire.pair()
        with ours, theirs, self._lock:
            wire.send(self._control, {"do": "slot"}, [theirs.fileno()])
            answer, _ = wire.receive(self._control)
            if "error" in answer:
                raise Unavailable(answer["error"])
            return ours.detach()

    def close(self) -> None:
        """End every jail and the process."""
        self._control.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            hierarchy = cgroups.find()
            if hierarchy:
                cgroups.sweep(hierarchy)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
