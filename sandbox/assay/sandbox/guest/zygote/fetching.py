"""Run an action in a child, then send files that it left in the working folder to the host.

One JSON object, name -> content in base64, on the first output descriptor. Links are not followed; what is missing, no
regular file or beyond the bound is left out. The exit status is that of the action.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import Any

MAX_BYTES = 4 << 20
OUTPUT_FD = 3
Head = dict[str, Any]


def run(action: Callable[[Head, list[bytes]], int], head: Head, blobs: list[bytes]) -> int:
    """Run `action`, send the files that `head["fetch"]` names; returns the exit code."""
    pid = os.fork()
    if pid == 0:
        os.close(OUTPUT_FD)
        return action(head, blobs)
    status = os.waitpid(pid, 0)[1]
    found, left = {}, MAX_BYTES
    for name in head["fetch"]:
        content = _content(name, left)
        if content is not None:
            left -= len(content)
            found[name] = base64.b64encode(content).decode()
    _write(json.dumps(found).encode())
    if os.WIFSIGNALED(status):
        _end_as(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _content(name: str, most: int) -> bytes | None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:
        info = os.fstat(fd)
        return file.read(info.st_size) if stat.S_ISREG(info.st_mode) and info.st_size <= most else None


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(OUTPUT_FD, view) :]


def _end_as(number: int) -> None:
    """End by the signal that ended the child, or with the code that a shell gives for it."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    os._exit(128 + number)
