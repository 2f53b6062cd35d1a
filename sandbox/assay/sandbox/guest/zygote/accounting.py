"""CPU accounting of a run, read from /proc: time used, time spent waiting for a CPU.

Used by the zygote, outside the run's privileges. Standard library only.
"""

from __future__ import annotations

import os
import time

_SAMPLES, _SAMPLE_S = 5, 0.002
_TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")


def _threads(pid: int) -> list[tuple[int, int]]:
    """Return for each thread of `pid` its CPU time and how long it was runnable without a CPU, in microseconds."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", "rb") as file:
                used, delay = file.read().split()[:2]
            found.append((int(used) // 1000, int(delay) // 1000))
    except (OSError, IndexError, ValueError):
        pass  # a thread ended meanwhile; what was read counts
    return found


def descendants() -> list[int]:
    """Return every process below this one: those of a run, its pid 1 included."""
    found = [os.getpid()]
    for pid in found:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    found += [int(child) for child in file.read().split()]
        except (OSError, ValueError):
            continue  # it ended meanwhile
    return found[1:]


def used_us(pid: int) -> int:
    """Return the CPU time of a process: of all its threads, ended ones too, and of the children it has waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) * _TICK_US


def _runnable(pid: int) -> int:
    """Return how many threads of `pid` run or want to."""
    count = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", "rb") as file:
                count += file.read().rpartition(b") ")[2][:1] in (b"R", b"D")
    except OSError:
        pass  # a thread ended meanwhile
    return count


def run_delay_us(pid: int) -> int:
    """Return how long the slowest thread of `pid` was runnable without a CPU because of other programs.

    All other CPU time of the run is subtracted: of its threads and processes, ended ones too. The rest is divided by
    the number of the run's runnable threads, since they delay each other as much as other programs do.
    """
    used, delay = max(_threads(pid), key=lambda thread: thread[1], default=(0, 0))
    processes = descendants()
    left = delay - (sum(map(used_us, processes)) - used)
    return max(0, left) // max(1, sum(map(_runnable, processes)))


def wants_cpu() -> bool:
    """Return whether the run is busy: a program that sleeps at its deadline is not late for want of a CPU."""
    busy = 0
    for _ in range(_SAMPLES):
        busy += any(map(_runnable, descendants()))
        time.sleep(_SAMPLE_S)
    return 2 * busy > _SAMPLES
