"""Many clients and a small queue: only correct 200s and 429s, bounded memory; clients that leave free their lanes."""

import asyncio
import json
import socket
import time
from typing import Any

import httpx
import psutil

from ._service import free_port, serving

CLIENTS, ITEMS = 200, 16
MB = 1024 * 1024


def body(salt: str) -> bytes:
    reference = {"mode": "number", "gold": "7", "extract": "last_number"}
    items = [
        {"verifier": "exact", "completion": f"{salt} {'x ' * 400} {7 + n % 2}", "reference": reference}
        for n in range(ITEMS)
    ]
    return json.dumps({"items": items}).encode()


async def storm(url: str, salt: str) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as http:
        headers = {"content-type": "application/json"}
        posts = [http.post("/v1/score", content=body(f"{salt}-{n}"), headers=headers) for n in range(CLIENTS)]
        return await asyncio.gather(*posts)


def check(responses: list[httpx.Response]) -> tuple[int, int]:
    statuses = [r.status_code for r in responses]
    assert set(statuses) <= {200, 429}
    for response in responses:
        if response.status_code == 200:
            assert [r["reward"] for r in response.json()["results"]] == [1.0, 0.0] * (ITEMS // 2)
        else:
            assert int(response.headers["retry-after"]) >= 1
    return statuses.count(200), statuses.count(429)


def test_200_clients_against_a_small_queue() -> None:
    port = free_port()
    settings = {"ASSAY_LIMITS__QUEUE_ITEMS": "160", "ASSAY_CACHE_MB": "0"}
    with serving(port, **settings) as server:
        url, sizes, seen = f"http://127.0.0.1:{port}", [], [0, 0]
        for round_ in range(4):
            good, refused = check(asyncio.run(storm(url, f"r{round_}")))
            seen = [seen[0] + good, seen[1] + refused]
            sizes.append(server.memory_info().rss)
    assert min(seen) > 0
    assert sizes[-1] - sizes[1] < 24 * MB, [size // MB for size in sizes]


def test_a_client_that_leaves_frees_its_lanes() -> None:
    port = free_port()
    items = [{"verifier": "slow", "completion": str(n), "reference": {"word": "x"}} for n in range(4000)]
    slow = json.dumps({"items": items}).encode()
    fields = [
        "POST /v1/score HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(slow)}",
    ]
    with serving(port):
        with socket.create_connection(("127.0.0.1", port)) as leaver:
            leaver.sendall("\r\n".join([*fields, "", ""]).encode() + slow)
            time.sleep(0.5)
        started = time.monotonic()
        quick: dict[str, Any] = {"items": [items[0] | {"completion": "x"}]}
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/score", json=quick, timeout=30).json()
        waited = time.monotonic() - started
        depth = httpx.get(f"http://127.0.0.1:{port}/readyz").json()["queue_depth"]
    assert (answer["results"][0]["reward"], depth) == (1.0, 0)
    assert waited < 4, "4,000 items of 2 ms on two lanes would take four seconds"


def test_a_lane_is_confined() -> None:
    port = free_port()
    with serving(port, ASSAY_SANDBOX_BACKENDS="[]") as server:
        status = [lane_status(process) for process in server.children(recursive=True)]
    lanes = [entry for entry in status if entry["Seccomp"] == "2"]
    assert len(lanes) == 2
    assert {entry["NoNewPrivs"] for entry in lanes} == {"1"}
    assert {int(entry["CapEff"], 16) for entry in lanes} == {0}


def lane_status(process: psutil.Process) -> dict[str, str]:
    with open(f"/proc/{process.pid}/status") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
