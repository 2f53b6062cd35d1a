"""Many hostile runs leave nothing: no memory, control group, mount, file, zombie or descriptor.

ASSAY_HOSTILE_RUNS sets how many (default 60; 1000 before a release).
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.contract.references.code import CodeReference
from assay.sandbox import Settings, Slot, Supervisor
from assay.sandbox.host import cgroups
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier

RUNS = int(os.environ.get("ASSAY_HOSTILE_RUNS", "60"))
CASES = Path(__file__).parents[4] / "shared" / "cases" / "code.jsonl"
IO = {"mode": "stdio", "tests": [{"stdin": "1\n", "expected_stdout": "2\n"}]}
CALL = {"mode": "function", "tests": [{"entry_point": "f", "args": [1], "expected": 2}]}
ASSERT = {"mode": "asserts", "tests": [{"test_code": "assert f(1) == 2"}]}
HOSTILE: list[tuple[dict[str, Any], str]] = [
    (IO, "import os\nos.kill(-1, 9)"),
    (IO, "import os, time\nfor _ in range(30):\n  if os.fork() == 0: os.setsid(); time.sleep(60)"),
    (IO, "while True: pass"),
    (IO, "x = []\nwhile True: x.append(bytearray(1 << 22))"),
    (IO, "while True: print('x' * 65536)"),
    (IO, "n = 0\nwhile True:\n  open(f'/tmp/{n}', 'w').write('x'); n += 1"),
    (IO, "import ctypes\nl = ctypes.CDLL(None)\nfor k in range(50): l.shmget(k, 1 << 16, 0o1600)"),
    (IO, "import os\nos.mkfifo('f'); os.symlink('/', 'r'); os.makedirs('a/b'); os.chmod('a', 0)"),
    (IO, "import os\nfds = [os.memfd_create('m') for _ in range(200)]\nos.abort()"),
    (IO, "import threading, time\nfor _ in range(50): threading.Thread(target=time.sleep, args=(60,)).start()"),
    (IO, "raise SystemExit(255)"),
    (CALL, "import os\ndef f(x):\n  while True: os.write(3, b'x' * 65536)"),
    (CALL, "def f(x): return 'a' * (9 << 20)"),
    (ASSERT, "import os\nwhile True: os.write(4, b'x' * 65536)"),
    (ASSERT, "import os\ndef f(x): os._exit(0)"),
    (ASSERT, "import os\nos.close(3); os.close(4)\nimport time; time.sleep(60)"),
]


@pytest.fixture(scope="module")
def own(start_supervisor: Callable[..., Any]) -> Any:
    return start_supervisor(slots=1)


def score(verifier: CodeVerifier, row: dict[str, Any], code: str) -> float:
    reference = CodeReference.model_validate({"language": "python", "extract": "whole", **row})
    return verifier.verify(verifier.prepare(reference), Candidate.of(code)).reward


def snapshot(pid: int) -> dict[str, int]:
    """Counts that must come back: of this process, the supervisor, and the host."""
    hierarchy = cgroups.find()
    parents = hierarchy.folders if hierarchy else ()
    stats = [path.read_text() for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]
    below = [text for text in stats if text.rpartition(")")[2].split()[1] in (str(pid), str(os.getpid()))]
    return {
        "groups": sum(len(list(parent.glob(f"assay-{pid}-*"))) for parent in parents),
        "mounts": len(Path("/proc/mounts").read_text().splitlines()),
        "zombies": sum(text.rpartition(")")[2].split()[0] == "Z" for text in below),
        "children": len(below),
        "own_descriptors": len(os.listdir("/proc/self/fd")),
        "its_descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "state_files": sum(1 for _ in Settings().state_dir.rglob("*")),
    }


def resident_kb(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4


def test_hostile_runs_leave_nothing(own: Supervisor) -> None:
    slot, choice = Slot.from_descriptor(own.connect()), random.Random(7)
    verifier, pid = CodeVerifier(lambda: slot), own.pid
    for row, code in HOSTILE:  # every kind of jail has been needed once
        score(verifier, {**row, "limits": {"wall_s": 0.3, "memory_mb": 96}}, code)
    before, rss = snapshot(pid), (resident_kb(os.getpid()), resident_kb(pid))
    for _ in range(RUNS):
        row, code = choice.choice(HOSTILE)
        assert score(verifier, {**row, "limits": {"wall_s": 0.3, "memory_mb": 96}}, code) == 0
    deadline = time.monotonic() + 20
    while snapshot(pid) != before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert snapshot(pid) == before
    assert resident_kb(os.getpid()) - rss[0] < 40_000 and resident_kb(pid) - rss[1] < 20_000
    for row in correct_cases():
        reference = CodeReference.model_validate_json(json.dumps(row["reference"]))
        assert verifier.verify(verifier.prepare(reference), Candidate.of(row["completion"])).reward == 1, row["id"]
    slot.close()


def correct_cases() -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.exists() else []
    return [row for row in rows if row["kind"] == "correct" and row["expected"] == 1.0]
