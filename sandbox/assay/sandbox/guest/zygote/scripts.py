"""All stdio tests of one Python program in one process: fast, and only a pass of all counts.

Each input is run as `__main__` in a fresh module with descriptors 0 and 1 on files of its own; what it
printed goes out behind its length, when what an interpreter does at its end has been done: atexit hooks,
finalisers. The first exception or non-zero exit ends the process with 1.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from assay.sandbox.guest.zygote import program

RESULT_FD = 3
Head = dict[str, Any]


def run(head: Head, blobs: list[bytes]) -> int:
    """Run the program on every input; returns the exit code."""
    program.write_files(head, blobs)
    filename = os.path.join(os.getcwd(), head["name"])
    program.prepare_interpreter([filename], os.getcwd())
    code = program.compiled(head, blobs, filename)
    for stdin in blobs[1 : 1 + head["inputs"]]:
        printed = _run_one(code, filename, stdin)
        if printed is None:
            return 1
        _write(len(printed).to_bytes(8, "big") + printed)
    return 0


def _run_one(code: Any, filename: str, stdin: bytes) -> bytes | None:
    given, taken = os.memfd_create("stdin"), os.memfd_create("stdout")
    os.write(given, stdin)
    os.lseek(given, 0, os.SEEK_SET)
    for source, target in ((given, 0), (taken, 1)):
        os.dup2(source, target)
        os.close(source)
    sys.stdin, sys.stdout = program.text_stream(0, "rb"), program.text_stream(1, "wb")
    sys.__stdout__ = sys.stdout  # type: ignore[misc]
    module = program.new_module("__main__", filename)
    try:
        exec(code, module.__dict__)
    except SystemExit as ending:
        if ending.code not in (None, 0):
            return None
    except BaseException as error:
        program.report(error)
        return None
    if threading.active_count() > 1:
        return None  # a thread may still print: not for this mode
    program.end_module(module)
    return os.pread(1, os.fstat(1).st_size, 0)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(RESULT_FD, view) :]
