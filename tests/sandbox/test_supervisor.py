"""Whoever is killed, whenever: nothing is left behind, and no program's failure is made of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.sandbox import (
    Limits,
    Settings,
    Slot,
    Status,
    Supervisor,
    Unavailable,
    compile_program,
    found_languages,
    python_program,
)
from assay.sandbox.host import cgroups

SLEEP = python_program(b"import time\ntime.sleep(30)", limits=Limits(wall_s=40))
HELLO = python_program(b"print('hello')")


def start(**fields: int) -> Supervisor:
    try:
        return Supervisor.start(Settings(slots=2, **fields))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")


@pytest.fixture(scope="module")
def long_lived() -> Iterator[Supervisor]:
    with start() as started:
        yield started


@pytest.fixture
def own(long_lived: Supervisor) -> Iterator[Supervisor]:
    """A supervisor that outlives the test; its slots do not."""
    yield long_lived
    finish()
    assert wait_for(lambda: not descendants(long_lived.pid))


@pytest.fixture
def mortal() -> Iterator[Supervisor]:
    """A supervisor that the test may kill."""
    started = start()
    yield started
    started.close()
    finish()


def finish() -> None:
    for slot in SLOTS:
        with contextlib.suppress(OSError):
            slot.interrupt()
    for thread in THREADS:
        thread.join(30)
    for slot in SLOTS:
        slot.close()
    THREADS.clear()
    SLOTS.clear()


THREADS: list[threading.Thread] = []
SLOTS: list[Slot] = []


def open_slot(own: Supervisor) -> Slot:
    """A slot that is closed at the end of the test, after the threads that use it."""
    SLOTS.append(Slot.from_descriptor(own.connect()))
    return SLOTS[-1]


def in_thread(work: Callable[[], object]) -> threading.Thread:
    THREADS.append(threading.Thread(target=work))
    THREADS[-1].start()
    return THREADS[-1]


def descendants(pid: int) -> list[int]:
    """Pids below `pid`, read from /proc (psutil would do the same)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(
                int(entry.name)
            )
    found, queue = [], [pid]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def groups_of(pid: int) -> set[str]:
    hierarchy = cgroups.find()
    parents = hierarchy.folders if hierarchy else ()
    return {path.name for parent in parents for path in parent.glob(f"assay-{pid}-*")}


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def start_run(slot: Slot) -> threading.Thread:
    def run() -> None:
        with contextlib.suppress(Unavailable, OSError):
            slot.run(SLEEP)

    return in_thread(run)


def running(own: Supervisor, slot: Slot) -> list[int]:
    """Start a long run; the pids of everything below the supervisor once it runs."""
    slot.run(HELLO)
    before = len(descendants(own.pid))
    start_run(slot)
    assert wait_for(lambda: len(descendants(own.pid)) >= before + 2)
    return descendants(own.pid)


def test_a_supervisor_killed_mid_run_leaves_nothing(mortal: Supervisor) -> None:
    pids = running(mortal, open_slot(mortal))
    pid = mortal.pid
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: not alive(pids))
    assert not mortal.alive
    mortal.close()
    assert not groups_of(pid)


def test_a_lane_that_vanishes_takes_its_run_along(own: Supervisor) -> None:
    slot = open_slot(own)
    pids = running(own, slot)
    slot.interrupt()
    assert wait_for(lambda: not alive(pids))
    other = open_slot(own)
    assert other.run(HELLO).ok


@pytest.mark.parametrize("victim", ["nsjail", "zygote", "program", "init"])
def test_any_process_of_a_jail_can_be_killed_mid_run(own: Supervisor, victim: str) -> None:
    slot = open_slot(own)
    slot.run(HELLO)
    results = []
    thread = in_thread(lambda: results.append(slot.run(SLEEP)))
    order = {"nsjail": 0, "zygote": 1, "init": 2, "program": 3}
    assert wait_for(lambda: len(chain(own)) == 4)
    for _ in range(2):  # the second death is held to be the program's doing
        os.kill(chain(own)[order[victim]], signal.SIGKILL)
        wait_for(lambda: len(chain(own)) == 4 or not thread.is_alive())
        if not thread.is_alive():
            break
    thread.join(30)
    assert results and results[0].status is Status.RUNTIME_ERROR
    assert slot.run(HELLO).ok
    slot.close()
    assert wait_for(lambda: not descendants(own.pid))


@pytest.mark.parametrize("victim", ["nsjail", "zygote", "program", "init"])
def test_a_single_kill_from_outside_changes_no_result(own: Supervisor, victim: str) -> None:
    slot = open_slot(own)
    slot.run(HELLO)
    results = []
    nap = python_program(b"import time; time.sleep(1.5); print(7)", limits=Limits(wall_s=20))
    thread = in_thread(lambda: results.append(slot.run(nap)))
    order = {"nsjail": 0, "zygote": 1, "init": 2, "program": 3}
    assert wait_for(lambda: len(chain(own)) == 4)
    os.kill(chain(own)[order[victim]], signal.SIGKILL)
    thread.join(60)
    assert results and results[0].ok and results[0].stdout == b"7\n"
    assert not results[0].unexplained
    slot.close()
    assert wait_for(lambda: not descendants(own.pid))


def chain(own: Supervisor) -> list[int]:
    """nsjail, zygote, init, program of the jail that has a run."""
    for jail in descendants(own.pid):
        below = descendants(jail)
        if len(below) == 3:
            return [jail, below[0], *sorted(below[1:])]
    return []


@pytest.mark.skipif("cpp" not in found_languages(), reason="no C++ compiler here")
def test_a_compilation_can_be_killed(own: Supervisor) -> None:
    slot = open_slot(own)
    bomb = b"#include <map>\n#include <regex>\n#include <algorithm>\n#include <iostream>\n"
    in_thread(lambda: compile_quietly(slot, bomb))
    assert wait_for(lambda: any("cc1plus" in name for name in names(own)))
    pids = descendants(own.pid)
    slot.interrupt()
    assert wait_for(lambda: not alive(pids))


def compile_quietly(slot: Slot, source: bytes) -> None:
    with contextlib.suppress(Unavailable, OSError):
        compile_program(slot, slot.toolchain("cpp"), source + b"int main(){}")


def names(own: Supervisor) -> list[str]:
    found = []
    for pid in descendants(own.pid):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return found


def test_close_leaves_no_process_and_no_group(mortal: Supervisor) -> None:
    slot = open_slot(mortal)
    assert slot.run(HELLO).ok
    pids, pid = descendants(mortal.pid), mortal.pid
    mortal.close()
    assert not alive(pids) and not groups_of(pid)


def test_it_dies_with_its_parent() -> None:
    script = (
        "import os, time\nfrom assay.sandbox import *\ns = Supervisor.start(Settings(slots=1))\n"
        "slot = Slot.from_descriptor(s.connect())\nslot.run(python_program(b'pass'))\n"
        "print(s.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        line = parent.stdout.readline()
        if not line.strip():
            pytest.skip("no sandbox here")
        pid = int(line)
        pids = [pid, *descendants(pid)]
        parent.kill()
    assert wait_for(lambda: not alive(pids))
    assert not groups_of(pid)


def test_stale_groups_of_a_dead_maker_are_swept() -> None:
    hierarchy = cgroups.find()
    if hierarchy is None:
        pytest.skip("no writable control groups here")
    for parent in hierarchy.folders:
        (parent / "assay-999999999-1-stale").mkdir()
    assert cgroups.sweep(hierarchy) == len(hierarchy.folders)
    assert not any((parent / "assay-999999999-1-stale").exists() for parent in hierarchy.folders)


def test_slots_are_counted(own: Supervisor) -> None:
    slots = [open_slot(own) for _ in range(2)]
    with pytest.raises(Unavailable, match="every slot is taken"):
        own.connect()
    slots[0].close()
    assert wait_for(lambda: can_connect(own))


def can_connect(own: Supervisor) -> bool:
    try:
        os.close(own.connect())
    except Unavailable:
        return False
    return True


def test_one_jail_never_serves_two_owners(own: Supervisor) -> None:
    slot = open_slot(own)
    for owner in ("ann", "bob", "ann"):
        slot.run(python_program(b"pass", owner=owner))
    assert len(set(slot.jail_numbers)) == 2


def test_a_fresh_run_gets_a_jail_of_its_own(own: Supervisor) -> None:
    slot = open_slot(own)
    slot.run(HELLO)
    (first,) = slot.jail_numbers
    assert slot.run(python_program(b"print(1)", fresh=True)).ok
    assert not slot.jail_numbers
    slot.run(HELLO)
    assert slot.jail_numbers != (first,)


def test_jails_are_replaced_after_their_share_of_runs() -> None:
    with start(runs_per_jail=3) as supervisor:
        slot, numbers = Slot.from_descriptor(supervisor.connect()), set()
        for _ in range(8):
            assert slot.run(HELLO).ok
            numbers |= set(slot.jail_numbers)
        slot.close()
    assert len(numbers) == 3


def test_a_dead_supervisor_is_said_to_be_unavailable(mortal: Supervisor) -> None:
    slot = open_slot(mortal)
    slot.run(HELLO)
    os.kill(mortal.pid, signal.SIGKILL)
    assert wait_for(lambda: not mortal.alive)
    with pytest.raises(Unavailable):
        for _ in range(3):
            slot.run(python_program(b"print(1)", fresh=True))
