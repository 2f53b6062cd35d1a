"""Running a whole program in a child: a Python script as `__main__`, or another executable.

A script runs as under `python main.py`: its file lies in the working directory, `__main__` is a
fresh module, exceptions, `SystemExit`, threads, atexit hooks and finalisers behave as at a normal
interpreter's end. Not covered: the order in which modules other than `__main__` are torn down.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import marshal
import os
import resource
import signal
import stat
import sys
import threading
import traceback
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

Head = dict[str, Any]
_HERE = __file__.partition("/guest/")[0] + "/guest/"


def prepare_interpreter(argv: list[str], path: str) -> None:
    """Undo what a zygote does differently from a fresh interpreter."""
    gc.enable()
    resource.setrlimit = _setrlimit
    sys.argv = list(argv)
    sys.path.insert(0, path)
    if not stat.S_ISREG(os.fstat(0).st_mode):
        sys.stdin = text_stream(0, "rb")
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()  # `random` reseeds itself after a fork


_original_setrlimit = resource.setrlimit


def _setrlimit(which: int, limits: tuple[int, int], /) -> None:
    """As `resource.setrlimit`; a stack beyond the hard limit is set to that, not refused: many programs ask for it."""
    if which == resource.RLIMIT_STACK:
        hard = resource.getrlimit(which)[1]
        limits = tuple(hard if hard >= 0 and (asked < 0 or asked > hard) else asked for asked in limits)  # type: ignore[assignment]
    _original_setrlimit(which, limits)


def text_stream(fd: int, mode: str) -> io.TextIOWrapper:
    """A standard stream on a descriptor that stays open."""
    return io.TextIOWrapper(open(fd, mode, closefd=False), encoding="utf-8", errors="surrogateescape")


def write_files(head: Head, blobs: list[bytes]) -> None:
    """Create the job's files in the working directory: `files` is [[name, mode, blob index], …]."""
    for name, mode, index in head.get("files", ()):
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        view = memoryview(blobs[index])
        while view:
            view = view[os.write(fd, view) :]
        os.close(fd)


def compiled(head: Head, blobs: list[bytes], filename: str) -> types.CodeType:
    """The program's code object: loaded if an earlier run of the same program left it, else compiled.

    Compiling executes nothing of the program, and `code_fd` is written and closed before it starts.
    """
    if "code" in head:
        with contextlib.suppress(EOFError, ValueError, TypeError):  # an earlier run that ended while it wrote
            code = marshal.loads(blobs[head["code"]])
            if isinstance(code, types.CodeType):
                return code
    code = compile(blobs[head["source"]], filename, "exec", dont_inherit=True)
    if "code_fd" in head:
        with open(head["code_fd"], "wb") as file:
            marshal.dump(code, file)
    return code


def new_module(name: str, filename: str) -> types.ModuleType:
    """An empty module registered under `name`, as the import system or `python FILE` would make it."""
    module = types.ModuleType(name)
    module.__dict__.update(
        __file__=filename,
        __builtins__=sys.modules["builtins"],
        __loader__=SourceFileLoader(name, filename),
        __spec__=None,
        __cached__=None,
    )
    sys.modules[name] = module
    return module


def script(head: Head, blobs: list[bytes]) -> int:
    """Run a Python program as `__main__`; returns its exit code."""
    write_files(head, blobs)
    filename = os.path.join(os.getcwd(), head["name"])
    prepare_interpreter([filename, *head.get("argv", ())], os.getcwd())
    module = new_module("__main__", filename)
    return run_to_end(lambda: exec(compiled(head, blobs, filename), module.__dict__), module)


def run_to_end(body: Callable[[], object], module: types.ModuleType) -> int:
    """Run `body`, then everything that an interpreter does at its end; returns the exit code."""
    code = 0
    try:
        body()
    except BaseException as error:
        code = report(error)
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException as error:
        report(error)
    flushed = end_module(module)
    return code if flushed else code or 120


def end_module(module: types.ModuleType) -> bool:
    """Run atexit hooks and finalisers, and flush what was printed; False if that failed."""
    atexit._run_exitfuncs()
    replaced = sys.stdout is not sys.__stdout__
    if replaced:
        _flush(sys.__stdout__)  # what was printed before the program put its own in its place
    flushed = _flush(sys.stdout)
    if replaced:
        sys.stdout = sys.__stdout__  # as the interpreter does before it drops the globals
    with contextlib.suppress(BaseException):
        _tear_down(module)
    return (_flush(sys.__stdout__) or replaced) and flushed


def _flush(stream: Any) -> bool:
    """Whether nothing is left in a stream: it is closed, or its `flush` succeeds."""
    try:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    except BaseException:
        return False
    return True


def report(error: BaseException) -> int:
    """Show an uncaught exception as the interpreter would; returns the exit code it means."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_HERE):
        trace = trace.tb_next
    error = error.with_traceback(trace)
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as ending:
        return report(ending)
    except BaseException:
        traceback.print_exc()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _tear_down(module: types.ModuleType) -> None:
    """Drop the globals of `__main__` as the interpreter does, so that `__del__` methods run."""
    names = module.__dict__
    for private in (True, False):
        for name in list(names):
            if name.startswith("_") == private and name != "__builtins__":
                names[name] = None
    gc.collect()


def execute(head: Head, blobs: list[bytes]) -> int:
    """Replace the process by `argv`; with `exec_fd`, by the executable behind that descriptor."""
    write_files(head, blobs)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN if head.get("ignore_sigpipe") else signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    soft_stack = head.get("stack_mb")
    if soft_stack:
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (soft_stack << 20, hard))
    environment = {**os.environ, **head.get("env", {})}
    target = head.get("exec_fd")
    if target is not None:
        os.set_inheritable(target, False)
    os.execve(head["path"] if target is None else target, head["argv"], environment)
