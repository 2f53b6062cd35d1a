"""The whole path but the verifier: CPU of the front per item of 4 kB, against a bare FastAPI handler in the same run.

Budgets (design): 60 µs with JSON, 30 µs with msgpack. The verifier is `exact` on the last number.
"""

import json
import statistics
import urllib.request

import msgspec

from bench._servers import cpu_s, server, tree_cpu_s
from bench._table import show

ITEMS, ROUNDS, REPEATS = 256, 12, 3
REFERENCE = {"mode": "number", "gold": "1284", "extract": "last_number"}


def bodies(*, packed: bool) -> list[bytes]:
    """Return requests of 256 items of 4 kB, all different."""
    text = "The train leaves at noon and the ticket costs more than before. " * 62
    out = []
    for n in range(ROUNDS * REPEATS):
        items = [
            {"verifier": "exact", "completion": f"{n} {i} {text}It is 1284.", "reference": REFERENCE}
            for i in range(ITEMS)
        ]
        if packed:
            for item in items:
                item["reference"] = json.dumps(REFERENCE).encode()
        out.append(msgspec.msgpack.encode({"items": items}) if packed else json.dumps({"items": items}).encode())
    return out


def post(url: str, body: bytes, kind: str) -> None:
    """Send one request and check that its results are there."""
    request = urllib.request.Request(f"{url}/v1/score", body, {"content-type": kind})
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.status == 200 and len(response.read()) > ITEMS * 50


def measure(command: tuple[str, ...], *, packed: bool) -> tuple[float, float]:
    """Return microseconds per item: CPU of the front, and of the processes below it (medians)."""
    kind = "application/msgpack" if packed else "application/json"
    with server(*command, health="/healthz") as (url, process):
        requests = bodies(packed=packed)
        post(url, bodies(packed=packed)[0].replace(b"noon", b"nine"), kind)
        front, below = [], []
        for start in range(0, len(requests), ROUNDS):
            before = cpu_s(process), tree_cpu_s(process)
            for body in requests[start : start + ROUNDS]:
                post(url, body, kind)
            per_item = 1e6 / (ITEMS * ROUNDS)
            front.append((cpu_s(process) - before[0]) * per_item)
            below.append((tree_cpu_s(process) - before[1]) * per_item)
    return statistics.median(front), statistics.median(below)


def main() -> None:
    """Print the table."""
    serve = ("-m", "assay", "serve", "--port", "{port}")
    bare, _ = measure(("-m", "bench._bare", "{port}"), packed=False)
    rows: list[list[object]] = [["bare FastAPI + pydantic, no verifier", bare, "", 1.0]]
    for name, packed in (("assay, JSON", False), ("assay, msgpack", True)):
        front, below = measure(serve, packed=packed)
        rows.append([name, front, below, front / bare])
    show(["4 kB items, 256 a request", "front CPU µs/item", "lanes CPU µs/item", "front : bare"], rows)
