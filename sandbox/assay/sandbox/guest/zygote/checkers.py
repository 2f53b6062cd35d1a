"""Checkers and interactors in Python, in a jail of their own; their word goes to the host on a pipe.

A checker defines `check(stdin, stdout, expected) -> bool`; an interactor `interact(stdin, read, write)
-> bool` and talks to the program on descriptors 0 and 1.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from assay.sandbox.guest.zygote import program

VERDICT_FD = 3
MAX_LINE = 1 << 20
Head = dict[str, Any]


def check(head: Head, blobs: list[bytes]) -> int:
    """Call the checker, or with `probe` only find it; returns the exit code."""
    function = _load(blobs[0])["check"]
    return _conclude(callable(function) if head.get("probe") else function(*map(_text, blobs[1:4])))


def interact(head: Head, blobs: list[bytes]) -> int:
    """Call the interactor, or with `probe` only find it; returns the exit code."""
    if head.get("probe"):
        return _conclude(callable(_load(blobs[0])["interact"]))
    with open(0, "rb", closefd=False) as incoming, open(1, "wb", buffering=0, closefd=False) as outgoing:

        def read() -> str | None:
            line = incoming.readline(MAX_LINE)
            return _text(line).rstrip("\r\n") if line else None

        def write(text: Any) -> None:
            with contextlib.suppress(BrokenPipeError):  # the program has ended: nobody reads, nothing is wrong
                outgoing.write(str(text).encode())

        sys.stdout = sys.stderr
        return _conclude(_load(blobs[0])["interact"](_text(blobs[1]), read, write))


def _load(source: bytes) -> dict[str, Any]:
    program.prepare_interpreter(["checker.py"], os.getcwd())
    module = program.new_module("checker", "/box/w/checker.py")
    exec(compile(source, "checker.py", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _conclude(word: object) -> int:
    if type(word).__name__ not in ("bool", "bool_"):  # numpy's too
        raise TypeError("a checker or interactor must return True or False")
    os.write(VERDICT_FD, b"true" if word else b"false")
    return 0
