"""The zygote of hosts without user namespaces: runs share the host's namespaces.

Each run is a child in a session and folder of its own, with limits, and (mode `landlock`) a landlock
domain: no file but the listed ones, no TCP, no signal to a process outside. The zygote is the subreaper
of whatever a run starts and kills it all when the main process ends. Mode `none` only bounds honest
mistakes. Not covered, and reported as such: the view of pids, a total for memory and disk, /tmp and
/dev/shm by name.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, __file__.partition("/assay/sandbox/guest/")[0])
from assay.sandbox.guest.zygote import accounting, zygote

PR_SET_CHILD_SUBREAPER = 36
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ABI_SCOPES_SIGNALS = 6
ALL_FILE_RIGHTS = (1 << 16) - 1
READ = (1 << 0) | (1 << 2) | (1 << 3)  # execute, read file, read folder
READ_WRITE_FILE = (1 << 1) | (1 << 2)
NET_TCP, SCOPE_SOCKETS_AND_SIGNALS = 3, 3
DEVICES = ("null", "zero", "full", "random", "urandom")
SWEEP_S = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *args: object) -> int:
    result = int(_libc.syscall(number, *args))
    if result < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return result


def landlock_abi() -> int:
    """The kernel's landlock version; 0 where there is none."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, 0, 1)))


def restrict(readable: list[str], box: str) -> None:
    """Enter a landlock domain: read `readable`, use `box` and some devices, signal only within."""
    attributes = struct.pack("=QQQ", ALL_FILE_RIGHTS, NET_TCP, SCOPE_SOCKETS_AND_SIGNALS)
    ruleset = _call(CREATE_RULESET, attributes, len(attributes), 0)
    for path in (*readable, f"/proc/{os.getpid()}"):
        _allow(ruleset, path, READ)
    for name in DEVICES:
        _allow(ruleset, f"/dev/{name}", READ_WRITE_FILE)
    _allow(ruleset, box, ALL_FILE_RIGHTS)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    if not os.path.isdir(path):
        rights &= READ_WRITE_FILE | 1
    _call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, fd), 0)
    os.close(fd)


class Runner:
    """Does runs one after another, each in a folder of its own below `box`."""

    def __init__(self, *, mode: str, box: str, readable: list[str], own_uid: bool) -> None:
        self._mode, self._box, self._readable, self._own_uid = mode, box, readable, own_uid
        self._count = 0

    def run(self, control: socket.socket, header: tuple[int, ...], fds: list[int]) -> bytes:
        """One run."""
        started = time.monotonic()
        self._count += 1
        folder = f"{self._box}/{self._count}"
        os.mkdir(folder, 0o700)
        ready_read, ready_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            zygote.be_child(header, fds, ready_write, lambda: self._confine(header, folder))
        os.close(ready_write)
        for fd in fds:
            os.close(fd)
        outcome = zygote.watch(pid, control, started, header[1], header[2])
        delay = accounting.run_delay_us(pid) if outcome == zygote.TIMEOUT else 0
        if outcome != zygote.ENDED:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        orphans = self._sweep()
        answer = zygote.reply(outcome, status, usage, delay, started, ready_read, others_us=orphans)
        remove(folder)
        return answer

    def _confine(self, header: tuple[int, ...], folder: str) -> None:
        zygote.make_folders(folder)
        os.environ.update(HOME=f"{folder}/w", TMPDIR=f"{folder}/tmp")
        limits = list(header)
        if not self._own_uid:
            limits[7] += tasks_of(os.getuid())  # the limit counts all processes of the user
        zygote.set_limits(tuple(limits))
        zygote.drop_capabilities()
        if self._mode == "landlock":
            restrict(self._readable, folder)

    def _sweep(self) -> int:
        """Kill what the run left behind; return its CPU time in microseconds.

        Orphans become children of this process, so this ends.
        """
        deadline, used = time.monotonic() + SWEEP_S, 0.0
        while time.monotonic() < deadline:
            if self._own_uid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)  # everything of this jail's uid but this process
            for child in children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            try:
                while (ended := os.wait4(-1, os.WNOHANG))[0]:
                    used += ended[2].ru_utime + ended[2].ru_stime
            except ChildProcessError:
                break
        return int(used * 1e6)


def children() -> list[int]:
    """Our direct children."""
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children", "rb") as file:
        return [int(pid) for pid in file.read().split()]


def tasks_of(uid: int) -> int:
    """Processes and threads of a user."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


def remove(folder: str) -> None:
    """Remove a run's folder, whatever it holds, without following links."""
    script = 'chmod -R u+rwX "$1" 2>/dev/null; rm -rf -- "$1"'
    with contextlib.suppress(OSError):
        for name in ("tmp", "shm"):
            os.rmdir(f"{folder}/{name}")
        for entry in os.scandir(f"{folder}/w"):
            os.unlink(entry.path)
        os.rmdir(f"{folder}/w")
        os.rmdir(folder)
        return
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", script, "sh", folder], {"PATH": "/usr/bin:/bin"})
    os.waitpid(pid, 0)


def main(arguments: list[str]) -> None:
    """`hostzygote FILTER CONTROL OPTIONS MODULE…`; OPTIONS is JSON: the runner's fields."""
    options = json.loads(arguments[2])
    sys.path += options.pop("site")
    zygote.check_result(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    control = zygote.start(arguments[0], int(arguments[1]), arguments[3:])
    zygote.serve(control, Runner(**options).run)


if __name__ == "__main__":
    main(sys.argv[1:])
