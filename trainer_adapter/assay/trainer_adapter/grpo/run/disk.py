"""A disk that is full or fails ends a run with one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from assay.client import AssayError

FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}
"""Errors of a file system that a run cannot mend."""


class NotWritten(AssayError):
    """The files of a run cannot be written."""


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Raise faults of the disk as `NotWritten`."""
    try:
        yield
    except OSError as error:
        if error.errno not in FAULTS:
            raise
        raise _fault(out, error.strerror or str(error)) from error
    except SafetensorError as error:
        if "os error" not in str(error):
            raise
        raise _fault(out, str(error)) from error


def _fault(out: Path, said: str) -> NotWritten:
    return NotWritten(f"{out}: {said}; the last checkpoint is complete, and --resume goes on from it")
