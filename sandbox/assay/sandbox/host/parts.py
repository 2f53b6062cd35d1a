"""Parts of the state folder: named by digest, built aside, renamed into place, held while used, swept when old.

A half-built part is never used, and two builders do not clash. Who uses a part holds a shared lock on its
folder until it ends; a part that nobody holds and that no process has asked for in `UNUSED_DAYS` is removed by
the next that builds here. Not covered: state folders on file systems without `flock`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

UNUSED_DAYS = 14
_PREFIXES = ("python-", "root-", "env-", ".")
_held: dict[Path, int] = {}
"""The locked folder of each part that this process uses."""


def part(state: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """The part of that name, built by `fill` (given an empty folder) if it is not there; held by this process."""
    final = state / name
    while final not in _held:
        if not final.is_dir():
            _build(state, final, fill)
        _hold(final)
    return final


def _build(state: Path, final: Path, fill: Callable[[Path], None]) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=state))
    try:
        fill(aside)
        _make_readable(aside)
        with contextlib.suppress(OSError):  # another builder was faster: its part is as good
            aside.rename(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _make_readable(top: Path) -> None:
    for folder, _, names in os.walk(top):
        os.chmod(folder, 0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _hold(final: Path) -> None:
    """Lock the folder and mark it as used now; nothing is held if a sweep took it away in between."""
    with contextlib.suppress(FileNotFoundError):
        folder = os.open(final, os.O_RDONLY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # without `flock` nothing is ever swept either
            fcntl.flock(folder, fcntl.LOCK_SH)
        if not _is_at(final, folder):
            os.close(folder)
            return
        os.utime(folder)
        _held[final] = folder


def _is_at(path: Path, folder: int) -> bool:
    """Whether that open folder is still the one at `path`."""
    return path.is_dir() and os.fstat(folder).st_ino == path.stat().st_ino


def sweep(state: Path, *, unused_days: float = UNUSED_DAYS) -> None:
    """Remove the parts that nobody holds and nobody has asked for in that many days."""
    oldest = time.time() - unused_days * 86400
    for folder in state.iterdir():
        if folder.name.startswith(_PREFIXES) and folder.is_dir() and folder.stat().st_mtime < oldest:
            _remove(state, folder)


def _remove(state: Path, folder: Path) -> None:
    """Remove `folder` unless somebody holds it."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        aside = state / f".swept-{os.getpid()}-{folder.name}"
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    except OSError:
        return  # in use, or another sweeper has it
    finally:
        os.close(lock)
