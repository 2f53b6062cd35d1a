"""What a confined child does with its job: read it, dispatch it by name, end the process.

Runs after every privilege is gone, so a fault here harms the run alone. A job is one sealed memfd:
a 4-byte length, a JSON head with `do`, `blobs` (lengths) and the action's own fields, then the blobs.
Standard library only.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import threading
import traceback
from typing import Any, NoReturn

from assay.sandbox.guest import calls, judge, program, referee, scripts, serve

ACTIONS = {
    "script": program.script,
    "exec": program.execute,
    "calls": calls.run,
    "serve": serve.run,
    "judge": judge.run,
    "scripts": scripts.run,
    "check": referee.check,
    "interact": referee.interact,
}


def warm(modules: list[str]) -> None:
    """Import `modules` (and touch the compiler) so that runs start with them loaded."""
    threading.stack_size(16 << 20)  # not the jail's hard limit, which threads would take by default
    for name in modules:
        importlib.import_module(name)
    exec(compile("def f(x: int = 1) -> str: return f'{x}'\nf()\n", "<warm>", "exec"), {})


def read_job(fd: int) -> tuple[dict[str, Any], list[bytes]]:
    """The head and blobs of the job behind `fd`; closes it."""
    size = os.fstat(fd).st_size
    data = b""
    while len(data) < size:
        data += os.pread(fd, size - len(data), len(data))
    os.close(fd)
    (length,) = struct.unpack_from("=I", data)
    head = json.loads(data[4 : 4 + length])
    blobs, at = [], 4 + length
    for blob_size in head["blobs"]:
        blobs.append(data[at : at + blob_size])
        at += blob_size
    return head, blobs


def main(job_fd: int) -> NoReturn:
    """Do the job. Never returns; an action that returns ends the process with its exit code."""
    code = 1
    try:
        head, blobs = read_job(job_fd)
        code = ACTIONS[head["do"]](head, blobs)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
