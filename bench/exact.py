"""`exact` on GSM8K solutions: in one lane, embedded, over HTTP; next to math-verify on the same rows in the same
run.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from bench._servers import cpu_s, server, tree_cpu_s
from bench._table import show

DATA = Path(__file__).parents[2] / "shared/data/gsm8k_solutions.jsonl"
CHUNK = 256


def rows() -> list[dict[str, Any]]:
    """Return the labelled solutions of two real models, as items."""
    fields = ("id", "verifier", "completion", "reference", "expected")
    return [{key: row[key] for key in fields} for row in map(json.loads, DATA.open())]


def in_a_lane(items: list[dict[str, Any]]) -> float:
    """Return CPU seconds of prepare and verify in this process, with the reference prepared once per row."""
    from assay.verifiers.candidate import Candidate
    from assay.verifiers.registry import Registry

    verifier = Registry().get("exact")
    specs = [verifier.prepare(verifier.reference_model.model_validate(item["reference"])) for item in items]
    start = time.process_time()
    right = sum(
        verifier.verify(spec, Candidate.of(item["completion"])).reward == item["expected"]
        for spec, item in zip(specs, items, strict=True)
    )
    assert right == len(items)
    return time.process_time() - start


def math_verify(items: list[dict[str, Any]]) -> float:
    """Return CPU seconds of math-verify 0.9 on the same rows (gold parsed once)."""
    from math_verify import parse, verify

    golds = [parse(str(item["reference"]["gold"])) for item in items]
    start = time.process_time()
    for gold, item in zip(golds, items, strict=True):
        verify(gold, parse(item["completion"], parsing_timeout=None), timeout_seconds=None)
    return time.process_time() - start


def over(url: str, items: list[dict[str, Any]]) -> float:
    """Return wall seconds through the client."""
    from assay.client import AsyncClient

    plain = [{key: value for key, value in item.items() if key != "expected"} for item in items]

    async def run() -> float:
        async with AsyncClient(url) as client:
            await client.score(plain[:2])
            start = time.perf_counter()
            results = await client.score(plain[2:])
            taken = time.perf_counter() - start
        assert [r.reward for r in results] == [item["expected"] for item in items[2:]]
        return taken

    return asyncio.run(run())


def main() -> None:
    """Print the table."""
    if not DATA.exists():
        print("left out: the shared data is not here")
        return
    items = rows()
    peer = math_verify(items[:600]) / 600
    table: list[list[object]] = [["math-verify 0.9, in process", 1 / peer, peer * 1e6, 1.0]]
    lane = in_a_lane(items) / len(items)
    table.append(["exact, in a lane", 1 / lane, lane * 1e6, peer / lane])
    wall = over("embedded:", items) / len(items)
    table.append(["exact, embedded (wall)", 1 / wall, wall * 1e6, peer / wall])
    with server("-m", "assay", "serve", "--port", "{port}", health="/readyz") as (url, process):
        before = cpu_s(process) + tree_cpu_s(process)
        wall = over(url, items) / len(items)
        spent = (cpu_s(process) + tree_cpu_s(process) - before) / len(items)
    table.append(["exact, over HTTP (wall)", 1 / wall, wall * 1e6, peer / wall])
    table.append(["exact, over HTTP (server CPU)", 1 / spent, spent * 1e6, peer / spent])
    show([f"{len(items)} GSM8K solutions", "pairs/s", "µs/pair", "x math-verify"], table)
