"""The memory of a container that runs out under a jail is the host's fault; a program's own limit is the program's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox.host import cgroups

MEMORY = Path("/sys/fs/cgroup/memory")
INSIDE = """
import json, os, sys, threading
from pathlib import Path
for group in json.loads(sys.argv[1]):
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
from assay.sandbox import Limits, SandboxError, Settings, Slot, Supervisor, python_program
from assay.sandbox.host import cgroups
from dataclasses import replace
def run(slot, source, memory_mb, **more):
    try:
        spec = python_program(source.encode(), limits=Limits(wall_s=20, memory_mb=memory_mb))
        return str(slot.run(replace(spec, **more)).status)
    except SandboxError as error:
        return type(error).__name__
said = {"limit": cgroups.memory_limit()}
with Supervisor.start(Settings(slots=1)) as supervisor:
    slot = Slot.from_descriptor(supervisor.connect())
    said["limited"] = supervisor.isolation().get("cgroups", True)
    for name, source, memory_mb in json.loads(sys.argv[2]):
        said[name] = run(slot, source, memory_mb)
    slot.close()
print(json.dumps(said))
"""
GROW = "b = []\nwhile len(b) < {mb}:\n    b.append(bytearray(1 << 20))\nprint(len(b))"
CHILD = (
    "import os\npid = os.fork()\nif pid == 0:\n"
    "    b = []\n    while len(b) < 900: b.append(bytearray(1 << 20))\n    os._exit(0)\n"
    "os.waitpid(pid, 0)\nprint(1)"
)


@pytest.fixture
def tight() -> Iterator[list[str]]:
    """Control groups of a container of 500 MB."""
    if os.getuid() != 0 or not (MEMORY / "memory.limit_in_bytes").exists() or cgroups.find() is None:
        pytest.skip("needs root and writable control groups, version 1")
    folders = [MEMORY / f"tight-{os.getpid()}", MEMORY.parent / "pids" / f"tight-{os.getpid()}"]
    for folder in folders:
        folder.mkdir()
    for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
        (folders[0] / name).write_text(str(500 << 20))
    yield [str(folder) for folder in folders]
    for folder in folders:
        folder.rmdir()


def inside(groups: list[str], *programs: tuple[str, str, int]) -> dict[str, object]:
    command = [sys.executable, "-c", INSIDE, json.dumps(groups), json.dumps(programs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_who_has_memory_left_is_not_at_fault_and_who_has_none_is(tight: list[str]) -> None:
    said = inside(
        tight,
        ("small", "print(1)", 100),
        ("own limit", GROW.format(mb=300), 100),
        ("container", GROW.format(mb=900), 1024),
        ("a child, in the container", CHILD, 1024),
        ("own limit again", GROW.format(mb=300), 100),
        ("and afterwards", "print(1)", 1024),
    )
    assert said.pop("limit") == 500 << 20 and said.pop("limited")
    assert said == {
        "small": "ok",
        "own limit": "memory_limit",
        "container": "Unavailable",
        "a child, in the container": "Unavailable",
        "own limit again": "memory_limit",
        "and afterwards": "ok",
    }


def test_slots_fit_the_memory_of_the_container(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\n")
    (tmp_path / "own").write_text("0::/outer/inner\n")
    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "outer/memory.max").write_text("3221225472\n")
    (tmp_path / "outer/inner/memory.max").write_text("max\n")

    def limit() -> int:
        return cgroups.memory_limit(tmp_path, tmp_path / "own", tmp_path / "meminfo")

    assert limit() == 3 << 30
    (tmp_path / "outer/inner/memory.max").write_text("1073741824")
    assert limit() == 1 << 30
    (tmp_path / "own").write_text("0::/nowhere\n")
    assert limit() == 16 << 30
