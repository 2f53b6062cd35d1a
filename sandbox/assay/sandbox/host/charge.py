"""The memory that the kernel charges to a jail, as its lane sees it through descriptors of the control group's files.

Two questions are answered after each run. Was a process of it killed for memory, and had the run itself reached its
limit? Its own peak says so, which is reset before it: the count of kills also rises for limits of groups above, such as
the container's, and such a kill is not the program's fault. Is all of its memory given back? What a run leaves in the
jail (files in flight between sockets, System V segments of a namespace that is still being removed) would be charged to
the next one; the kernel gives it back late, so it is awaited for a while.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from enum import Enum

_SLACK_BYTES = 4 << 20
"""How much more than at the start of the jail may be held: pages of the zygote that were written meanwhile."""
_NEAR_BYTES = 4 << 20
"""The kernel charges in batches, and huge pages as a whole: so much below its limit a run has reached it."""
_PATIENCE_S = 1.0
_PAUSE_S = 0.002
_HELD = frozenset({b"total_rss", b"total_shmem", b"anon", b"shmem", b"kernel"})
"""Lines of memory.stat (version 1, then 2) that count what a run holds. Page cache of the image is not its own."""


class Killed(Enum):
    """Whether the kernel has killed a process of a run for memory."""

    NOT = "not"
    AT_ITS_LIMIT = "at its limit"
    BY_ANOTHER_LIMIT = "by another limit"
    """That of the container or the host: the run itself had memory left."""


class Charge:
    """Memory of one jail. `descriptors`: peak, usage, stat, events, and in version 1 the usage of kernel memory."""

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._peak, self._usage, self._stat, self._events, *self._kernel = descriptors
        self._before: Counter[bytes] = Counter()
        self.has_own_peak = True
        """Whether the kernel can reset the peak, so that it is that of one run."""
        self._usage_at_start = _number(self._usage)
        self._held_at_start = self._held()

    def begin(self) -> None:
        """Reset the peak before a run."""
        try:
            os.pwrite(self._peak, b"0", 0)
        except OSError:
            self.has_own_peak = False
        with contextlib.suppress(OSError):  # the jail is gone, which its control socket says too
            self._before = self._counts()

    def killed(self, limit_bytes: int) -> Killed:
        """Return whether the kernel has killed a process of the run for memory, and for whose limit."""
        try:
            rose = self._counts() - self._before
            if not rose[b"oom_kill"]:
                return Killed.NOT
            own = _number(self._peak) >= limit_bytes - _NEAR_BYTES if self.has_own_peak else rose[b"max"] > 0
        except OSError:  # the group is gone
            return Killed.NOT
        return Killed.AT_ITS_LIMIT if own else Killed.BY_ANOTHER_LIMIT

    def _counts(self) -> Counter[bytes]:
        lines = (line.split() for line in os.pread(self._events, 4096, 0).splitlines())
        return Counter({line[0]: int(line[1]) for line in lines if len(line) == 2})

    def settles(self) -> bool:
        """Return whether the memory of the last run is given back, after waiting a bounded time for it."""
        deadline = time.monotonic() + _PATIENCE_S
        while _number(self._usage) > self._usage_at_start + _SLACK_BYTES:
            if self._held() <= self._held_at_start + _SLACK_BYTES:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def _held(self) -> int:
        lines = (line.split() for line in os.pread(self._stat, 1 << 16, 0).splitlines())
        return sum(int(line[1]) for line in lines if line[0] in _HELD) + sum(map(_number, self._kernel))

    def close(self) -> None:
        """Close the descriptors."""
        for fd in (self._peak, self._usage, self._stat, self._events, *self._kernel):
            with contextlib.suppress(OSError):
                os.close(fd)


def _number(fd: int) -> int:
    return int(os.pread(fd, 64, 0))
