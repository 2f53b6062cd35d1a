"""Every row of `shared/cases/code.jsonl`: its reward, and everything in its `must_hold`."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.contract.references.code import CodeReference
from assay.sandbox import Slot, Supervisor
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier
from assay.verifiers.errors import InvalidReference

FILE = Path(__file__).parents[4] / "shared" / "cases" / "code.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
LANES = 6
PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path.cwd(), Path.home(), Path("/run"))
DROPPED = (
    "vr_*",
    ".vr_*",
    "conftest.py",
    "pytest.ini",
    "output.txt",
    "core",
    "core.*",
    "json.py",
    "result.json",
)
pytestmark = pytest.mark.skipif(not ROWS, reason="no ../shared/cases/code.jsonl here")


@dataclass
class Outcome:
    row: dict[str, Any]
    verdict: Verdict | None = None
    refused: bool = False
    seconds: float = 0.0
    rss_growth_kb: int = 0
    left_files: set[str] = field(default_factory=set)


def dropped_files() -> set[str]:
    return {str(path) for place in PLACES for pattern in DROPPED for path in place.glob(pattern)}


def run(verifier: CodeVerifier, row: dict[str, Any]) -> Outcome:
    outcome, before, started = Outcome(row), dropped_files(), time.monotonic()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        reference = CodeReference.model_validate_json(json.dumps(row["reference"]))
        outcome.verdict = verifier.verify(verifier.prepare(reference), Candidate.of(row["completion"]))
    except (ValidationError, InvalidReference):
        outcome.refused = True
    outcome.seconds = time.monotonic() - started
    outcome.rss_growth_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss
    outcome.left_files = dropped_files() - before
    return outcome


@pytest.fixture(scope="module")
def outcomes(supervisor: Supervisor) -> Iterator[dict[str, Outcome]]:
    """All rows, on a few slots at once; a row that must come after another shares its slot."""
    os.environ["VR_CANARY_SECRET"] = "1"
    shares: list[list[dict[str, Any]]] = [ROWS[index::LANES] for index in range(LANES)]
    for row in [row for row in ROWS if "after" in row]:
        home = next(share for share in shares if any(other["id"] == row["after"] for other in share))
        for share in shares:
            share[:] = [other for other in share if other["id"] != row["id"]]
        home.insert(next(i for i, other in enumerate(home) if other["id"] == row["after"]) + 1, row)

    def lane(share: list[dict[str, Any]]) -> list[Outcome]:
        slot = Slot.from_descriptor(supervisor.connect())
        try:
            return [run(CodeVerifier(lambda: slot), row) for row in share]
        finally:
            slot.close()

    with ThreadPoolExecutor(LANES) as pool:
        yield {outcome.row["id"]: outcome for outcomes in pool.map(lane, shares) for outcome in outcomes}


def check(outcome: Outcome, promise: str) -> None:
    verdict, row = outcome.verdict, outcome.row
    if promise.startswith("status:"):
        assert verdict is not None and verdict.reason == promise.partition(":")[2]
    elif promise.startswith("flag_suggested:"):
        assert verdict is not None and any(f.startswith(promise.partition(":")[2]) for f in verdict.flags)
    elif promise in ("within_limit", "not_hung"):
        wall_s = (row["reference"].get("limits") or {}).get("wall_s", 5)
        assert outcome.seconds < 10 * (wall_s * len(row["reference"]["tests"]) + 2)
    elif promise == "not_infra_error":
        assert verdict is not None
    elif promise == "bad_request_or_zero":
        assert outcome.refused or (verdict is not None and verdict.reward == 0)
    elif promise == "probe":
        assert verdict is not None and verdict.reward == 1
    elif promise == "no_file_left":
        assert not outcome.left_files
    elif promise == "service_memory_flat":
        assert outcome.rss_growth_kb < 50 << 10
    elif promise in ("response_valid_utf8", "response_small"):
        assert verdict is not None
        shown = json.dumps([verdict.tests, verdict.flags, verdict.extracted], ensure_ascii=False)
        assert len(shown.encode("utf-8", "replace")) < 64 << 10
    else:  # checked for all rows at once, below
        assert promise in ("service_alive", "no_process_left", "next_run_clean", "host_disk_unchanged")


@pytest.mark.parametrize("name", [row["id"] for row in ROWS])
def test_row(outcomes: dict[str, Outcome], name: str) -> None:
    outcome = outcomes[name]
    expected = outcome.row["expected"]
    accepted = expected if isinstance(expected, list) else [expected]
    got = "refused" if outcome.refused else outcome.verdict and outcome.verdict.reward
    assert got in accepted, outcome.verdict
    for promise in outcome.row["must_hold"]:
        check(outcome, promise)


def test_no_process_of_any_run_is_left(outcomes: dict[str, Outcome], supervisor: Supervisor) -> None:
    deadline = time.monotonic() + 20
    while any(count != 1 for count in below_each_jail(supervisor)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert all(count == 1 for count in below_each_jail(supervisor))  # the zygote, nothing else


def below_each_jail(supervisor: Supervisor) -> list[int]:
    """How many processes each nsjail of the supervisor has below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(entry.read_text().rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))

    def below(pid: int) -> int:
        return sum(1 + below(child) for child in parents.get(pid, []))

    return [below(jail) for jail in parents.get(supervisor.pid, [])]


def test_the_service_answers_after_all_that(outcomes: dict[str, Outcome], verifier: CodeVerifier) -> None:
    row = next(row for row in ROWS if row["id"] == "cor-input")
    assert run(verifier, row).verdict.reward == 1  # type: ignore[union-attr]
