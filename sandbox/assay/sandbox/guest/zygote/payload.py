"""What a confined child does with its job: read it, dispatch it by name, end the process.

Runs after every privilege is gone, so a fault here harms the run alone. A job is one sealed memfd:
a 4-byte length, a JSON head with `do`, `blobs` (lengths) and the action's own fields, then the blobs.
Standard library only.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import random
import struct
import sys
import threading
import traceback
from functools import partial
from typing import Any, NoReturn

from assay.sandbox.guest.zygote import program

ACTIONS = {
    "script": ("zygote.program", "script"),
    "exec": ("zygote.program", "execute"),
    "calls": ("zygote.calls", "run"),
    "serve": ("relay.serve", "run"),
    "tests": ("testing.runner", "run"),
    "scripts": ("zygote.scripts", "run"),
    "check": ("zygote.checkers", "check"),
    "interact": ("zygote.checkers", "interact"),
}
"""Where each action is: (module below `assay.sandbox.guest`, function)."""
_GUEST_PACKAGE = "assay.sandbox.guest"
_GUEST_PATH = __file__.partition("/assay/sandbox/guest/")[0]
_REHEARSAL = b"a, b = map(int, input().split())\nprint(a + b, file=file)\n"
_REHEARSAL_ROUNDS = 20
_loaded: dict[str, Any] = {"zygote.program": program}


def warm(modules: list[str]) -> None:
    """Import `modules` (and touch the compiler) so that runs start with them loaded.

    A name with a leading dot is a module below `assay.sandbox.guest`, loaded here rather than by each run.
    """
    threading.stack_size(16 << 20)  # not the jail's hard limit, which threads would take by default
    for name in modules:
        if name.startswith("."):
            _action_module(name[1:])
        else:
            importlib.import_module(name)
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")
    _make_output_streams()
    exec(compile("def f(x: int = 1) -> str: return f'{x}'\nf()\n", "<warm>", "exec"), {})
    rehearsals = [_rehearse, *(own.rehearse for own in _loaded.values() if hasattr(own, "rehearse"))]
    for _ in range(_REHEARSAL_ROUNDS):
        for rehearse in rehearsals:
            rehearse()


def _rehearse() -> None:
    """Execute the code that every run executes, as far as that has no lasting effect.

    After enough rounds the interpreter has specialised this code and filled its caches. A run then only reads memory
    pages that it would otherwise write, which would copy them.
    """
    threading._after_fork()  # type: ignore[attr-defined]
    random.seed()
    text = json.dumps({"do": "script", "name": "main.py", "source": 0, "blobs": [len(_REHEARSAL)]}).encode()
    fd = os.memfd_create("rehearsal")
    os.write(fd, struct.pack("=I", len(text)) + text + _REHEARSAL)
    head, blobs = read_job(fd)
    module, printed = program.new_module("__rehearsal__", "/box/w/main.py"), io.StringIO()
    module.__dict__.update(input=io.StringIO("1 2\n").readline, file=printed)
    exec(program.compiled(head, blobs, "/box/w/main.py"), module.__dict__)
    program._flush(printed)
    program._tear_down(module)
    del sys.modules["__rehearsal__"]


def _make_output_streams() -> None:
    """Standard output and error as of an interpreter that was started on pipes, as every run is.

    A stream asks its descriptor once whether it can seek; the zygote's own lead to files.
    """
    kept, ends = [os.dup(fd) for fd in (1, 2)], os.pipe()
    for fd, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(ends[1], fd)
        old = getattr(sys, name)
        raw = io.FileIO(fd, "wb", closefd=False)
        raw.name = f"<{name}>"
        buffered = io.BufferedWriter(raw)
        new = io.TextIOWrapper(buffered, "utf-8", old.errors, line_buffering=old.line_buffering)
        new.mode = "w"  # type: ignore[misc]
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
        os.dup2(kept[fd - 1], fd)
    for fd in (*kept, *ends):
        os.close(fd)


def _action_module(name: str) -> Any:
    """A module below `assay.sandbox.guest`; imported late it is hidden again from the program's own imports."""
    if name not in _loaded:
        sys.path.insert(0, _GUEST_PATH)
        _loaded[name] = importlib.import_module(f"{_GUEST_PACKAGE}.{name}")
        sys.path.remove(_GUEST_PATH)
        for other in [other for other in sys.modules if other.partition(".")[0] == "assay"]:
            del sys.modules[other]
    return _loaded[name]


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
        module, function = ACTIONS[head["do"]]
        action = getattr(_action_module(module), function)
        if "fetch" in head:
            action = partial(_action_module("zygote.fetching").run, action)
        code = action(head, blobs)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
