"""`--resume` loses and repeats no row and mixes no versions; JSONL and Parquet."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ._cli import Ran, lines, row, write
from ._service import Running, null

Assay = Callable[..., Ran]


def plain(path: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "result"} for line in lines(path)]


@pytest.fixture
def half(assay: Assay, service: Running) -> list[dict[str, Any]]:
    """Return rows of which some are scored, followed by an incomplete line."""
    rows = [row(f"#### {n % 9}", id=f"r{n}") for n in range(40)]
    write("in.jsonl", rows[:15])
    assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    with open("out.jsonl", "a") as out:
        out.write('{"verifier": "exact", "completion": "####')
    write("in.jsonl", rows)
    service.service.requests.clear()
    return rows


def test_resume_removes_an_incomplete_line_and_scores_the_rest(assay: Assay, service: Running, half: list[Any]) -> None:
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url)
    assert ran.code == 0 and plain("out.jsonl") == half
    assert sum(len(request["items"]) for request in service.service.requests) == 25
    assert " 40 " in ran.err.splitlines()[-1]


def test_resuming_a_finished_run_changes_nothing(assay: Assay, service: Running, half: list[Any]) -> None:
    assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url)
    before = Path("out.jsonl").read_bytes()
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url).code == 0
    assert Path("out.jsonl").read_bytes() == before


def test_resuming_without_output_starts_at_the_beginning(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row()])
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url).code == 0
    assert len(lines("out.jsonl")) == 1


@pytest.mark.parametrize("change", [{"completion": "other"}, {"id": "other"}, {"reference": {}}, {"extra": 1}])
def test_a_changed_input_is_refused_and_the_output_unchanged(
    assay: Assay, service: Running, half: list[dict[str, Any]], change: dict[str, Any]
) -> None:
    half[7].update(change)
    write("in.jsonl", half)
    before = Path("out.jsonl").read_bytes()
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url)
    assert ran.code == 2 and "out.jsonl:8" in ran.err
    assert Path("out.jsonl").read_bytes() == before


def test_a_shorter_input_and_a_changed_slim_are_refused(assay: Assay, service: Running, half: list[Any]) -> None:
    write("short.jsonl", half[:5])
    assert assay("score", "short.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url).code == 2
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--slim", "--server", service.url).code == 2


def test_two_versions_of_a_verifier_are_never_mixed(assay: Assay, service: Running, half: list[Any]) -> None:
    service.service.version = 2
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url)
    assert ran.code == 2 and "exact@1" in ran.err and "exact@2" in ran.err


def test_only_retryable_nulls_are_scored_again(assay: Assay, service: Running) -> None:
    rows = [row(id=f"r{n}") for n in range(30)]
    write("in.jsonl", rows)
    refused = {"code": "invalid_item", "message": "x", "retryable": False}

    def some(item: dict[str, Any]) -> dict[str, Any]:
        number = int(item["id"])
        return null(item, "worker_lost") | ({"error": refused} if number % 7 == 0 else {})

    service.service.script.append(some)
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url).code == 3
    service.service.requests.clear()
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url).code == 0
    assert [line["result"]["reward"] for line in lines("out.jsonl")] == [None if n % 7 == 0 else 1 for n in range(30)]
    assert plain("out.jsonl") == rows and sum(len(r["items"]) for r in service.service.requests) == 25
    assert not Path("out.jsonl.tmp").exists()


def test_a_killed_run_is_completed(assay: Assay, service: Running) -> None:
    rows = [row(f"#### {n % 9}", id=f"r{n}") for n in range(20_000)]
    write("in.jsonl", rows)
    service.service.delay_s = 0.05
    command = [sys.executable, "-m", "assay", "score", "in.jsonl", "-o", "out.jsonl", "--server", service.url]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end and not (os.path.exists("out.jsonl") and os.path.getsize("out.jsonl") > 100_000):
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert 0 < Path("out.jsonl").read_bytes().count(b"\n") < 20_000
    service.service.delay_s = 0
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--resume", "--server", service.url).code == 0
    assert plain("out.jsonl") == rows


# --- Parquet -----------------------------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Use parts of one chunk each."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("assay.cli.parquet_output.PART_ROWS", 1)
    monkeypatch.setattr("assay.client.chunks.CHUNK_ITEMS", 1)
    return parquet


def rewards(parquet: Any, path: str) -> list[float | None]:
    return [result["reward"] for result in parquet.read_table(path)["result"].to_pylist()]


def test_parquet_keeps_its_columns_and_types(assay: Assay, service: Running, small_parts: Any) -> None:
    import pyarrow

    table = pyarrow.Table.from_pylist([row(f"#### {n % 9}", id=f"r{n}", n=n, tags=["x"]) for n in range(700)])
    small_parts.write_table(table, "in.parquet")
    assert assay("score", "in.parquet", "-o", "out.parquet", "--server", service.url).code == 0
    out = small_parts.read_table("out.parquet")
    assert out.drop_columns(["result"]).equals(table)
    assert rewards(small_parts, "out.parquet") == [float(n % 9 == 7) for n in range(700)]
    assert not Path("out.parquet.partial.jsonl").exists()


def test_jsonl_to_parquet_and_back(assay: Assay, service: Running, small_parts: Any) -> None:
    big = {"mode": "number", "gold": 7 * 10**30, "extract": "hash4"}
    write("in.jsonl", [row(f"#### {7 * 10**30}", id="a", reference=big, step=3, mine={"x": 1}), row("")])
    assert assay("score", "in.jsonl", "-o", "out.parquet", "--server", service.url).code == 0
    assert assay("score", "out.parquet", "-o", "out.jsonl", "--server", service.url).code == 0
    first, second = lines("out.jsonl")
    assert first["reference"] == big and first["step"] == 3 and first["extra"] == '{"mine":{"x": 1}}'
    assert (first["result"]["reward"], second["result"]["reward"]) == (1, 0)


def test_parquet_resumes_from_its_partial_lines(assay: Assay, service: Running, small_parts: Any) -> None:
    rows = [row(f"#### {n % 9}", id=f"r{n}") for n in range(600)]
    write("in.jsonl", [*rows[:300], "broken"])
    assert assay("score", "in.jsonl", "-o", "out.parquet", "--server", service.url).code == 2
    assert Path("out.parquet.partial.jsonl").stat().st_size and not Path("out.parquet").exists()
    write("in.jsonl", rows)
    service.service.requests.clear()
    assert assay("score", "in.jsonl", "-o", "out.parquet", "--resume", "--server", service.url).code == 0
    assert rewards(small_parts, "out.parquet") == [float(n % 9 == 7) for n in range(600)]
    assert sum(len(request["items"]) for request in service.service.requests) == 300


def test_parquet_scores_retryable_nulls_again(assay: Assay, service: Running, small_parts: Any) -> None:
    write("in.jsonl", [row(id=f"r{n}") for n in range(600)])
    service.service.script.extend([None, lambda item: null(item, "worker_lost")])
    assert assay("score", "in.jsonl", "-o", "out.parquet", "--server", service.url).code == 3
    lost = rewards(small_parts, "out.parquet").count(None)
    assert lost in (88, 256)  # whichever chunk came second
    service.service.requests.clear()
    ran = assay("score", "in.jsonl", "-o", "out.parquet", "--resume", "--server", service.url)
    assert ran.code == 0 and " 600 " in ran.err.splitlines()[-1]
    assert rewards(small_parts, "out.parquet") == [1.0] * 600
    assert sum(len(request["items"]) for request in service.service.requests) == lost


def test_parquet_of_another_input_is_refused(assay: Assay, service: Running, small_parts: Any) -> None:
    write("in.jsonl", [row(), row()])
    assay("score", "in.jsonl", "-o", "out.parquet", "--server", service.url)
    write("in.jsonl", [row(), row("x")])
    ran = assay("score", "in.jsonl", "-o", "out.parquet", "--resume", "--server", service.url)
    assert ran.code == 2 and "another input" in ran.err
