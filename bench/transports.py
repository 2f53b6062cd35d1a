"""Cost of each transport: front CPU per completion over JSON, msgpack and gRPC, against a bare FastAPI handler and a
bare
grpc.aio echo in the same run; and the cost of a hit in the local cache and in Redis.

Completions have 4 kB, 256 per request; the verifier is `exact`.
"""

import json
import shutil
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import grpc
import msgspec
import psutil

from assay.contract import assay_pb2 as pb
from bench._servers import NO_SANDBOX, cpu_s, free_port, server
from bench._table import show

ITEMS, ROUNDS, REPEATS = 256, 8, 3
REFERENCE = json.dumps({"mode": "number", "gold": "1284", "extract": "last_number"})
TEXT = "The train leaves at noon and the ticket costs more than before. " * 62
SERVE = ("-m", "assay", "serve", "--port", "{port}")
Post = Callable[[bytes], None]


def texts(salt: str) -> Iterator[list[str]]:
    """Yield the completions of successive requests, all different."""
    for n in range(ROUNDS * REPEATS):
        yield [f"{salt}{n} {i} {TEXT}It is 1284." for i in range(ITEMS)]


def json_body(batch: list[str]) -> bytes:
    """Return a JSON request."""
    items = [{"verifier": "exact", "completion": text, "reference": json.loads(REFERENCE)} for text in batch]
    return json.dumps({"items": items}).encode()


def msgpack_body(batch: list[str]) -> bytes:
    """Return a msgpack request."""
    items = [{"verifier": "exact", "completion": text, "reference": REFERENCE.encode()} for text in batch]
    return msgspec.msgpack.encode({"items": items})


def grpc_body(batch: list[str]) -> bytes:
    """Return a protobuf request."""
    items = [pb.Item(verifier="exact", text=text, reference_json=REFERENCE.encode()) for text in batch]
    return pb.ScoreRequest(items=items).SerializeToString()


def poster(url: str, kind: str) -> Post:
    """Return a function that posts over HTTP and checks that the results are there."""

    def post(body: bytes) -> None:
        request = urllib.request.Request(f"{url}/v1/score", body, {"content-type": kind})
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.status == 200 and len(response.read()) > ITEMS * 50

    return post


@contextmanager
def caller(address: str) -> Iterator[Post]:
    """Yield a function that calls over gRPC with serialized bodies."""
    unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(address, unlimited) as channel:
        grpc.channel_ready_future(channel).result(60)
        method = channel.unary_unary("/assay.v1.Scorer/Score")

        def post(body: bytes) -> None:
            assert len(method(body, timeout=60)) > ITEMS * 20

        yield post


def per_item(process: psutil.Process, post: Post, bodies: list[bytes]) -> float:
    """Return the process's own CPU in µs per item, the median of some rounds."""
    spent = []
    for start in range(0, len(bodies), ROUNDS):
        before = cpu_s(process)
        for body in bodies[start : start + ROUNDS]:
            post(body)
        spent.append((cpu_s(process) - before) * 1e6 / (ITEMS * ROUNDS))
    return statistics.median(spent)


def over_http(command: tuple[str, ...], encode: Callable[[list[str]], bytes], kind: str) -> tuple[float, float]:
    """Return the CPU per scored item, and per cached item."""
    with server(*command, health="/healthz", environment=NO_SANDBOX | {"ASSAY_CACHE_MB": "512"}) as (url, process):
        post, bodies = poster(url, kind), [encode(batch) for batch in texts("a")]
        post(encode(next(texts("warm"))))
        return per_item(process, post, bodies), per_item(process, post, bodies)


def over_grpc(*command: str, health: str) -> float:
    """Return the CPU per scored item over gRPC."""
    port = free_port()
    filled = [part.replace("{grpc}", str(port)) for part in command]
    with server(*filled, health=health) as (_, process), caller(f"127.0.0.1:{port}") as post:
        post(grpc_body(next(texts("warm"))))
        return per_item(process, post, [grpc_body(batch) for batch in texts("a")])


def from_redis() -> tuple[float, float]:
    """Return the CPU per item that another replica had scored, and the extra wall µs of a request compared with
    local hits.
    """
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    redis = {
        "ASSAY_REDIS__WORTH_US": "0",
        "ASSAY_REDIS__URL": f"redis://127.0.0.1:{port}/0",
        "ASSAY_REDIS__SECRET": "b" * 32,
    }
    settings = NO_SANDBOX | redis | {"ASSAY_REDIS__TIMEOUT_MS": "100", "ASSAY_CACHE_MB": "512"}
    bodies = [json_body(batch) for batch in texts("a")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        try:
            with server(*SERVE, health="/healthz", environment=settings) as (url, _):
                for body in bodies:
                    poster(url, "application/json")(body)
                time.sleep(2.0)
            with server(*SERVE, health="/healthz", environment=settings) as (url, process):
                post = poster(url, "application/json")
                post(json_body(next(texts("warm"))))
                started = time.perf_counter()
                spent = per_item(process, post, bodies)
                first = time.perf_counter() - started
                per_item(process, post, bodies)
                again = time.perf_counter() - started - first
                _assert_hits(url, len(bodies) * ITEMS)
                return spent, (first - again) * 1e6 / len(bodies)
        finally:
            running.terminate()


def _assert_hits(url: str, count: int) -> None:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    hits = next(float(line.split()[-1]) for line in lines if line.startswith("assay_redis_hits_total"))
    assert hits >= 0.98 * count, f"only {hits:.0f} of {count} were hits"


def main() -> None:
    """Print the table."""
    fastapi, _ = over_http(("-m", "bench._bare", "{port}"), json_body, "application/json")
    echo = over_grpc("-m", "bench._echo", "{port}", "{grpc}", health="/healthz")
    rows: list[list[object]] = [["bare FastAPI + pydantic", fastapi, 1.0, ""], ["bare grpc.aio echo", echo, "", 1.0]]
    kinds = (("JSON", json_body, "application/json"), ("msgpack", msgpack_body, "application/msgpack"))
    for name, encode, kind in kinds:
        judged, cached = over_http(SERVE, encode, kind)
        rows += [
            [f"assay, {name}", judged, judged / fastapi, ""],
            [f"assay, {name}, cache hit", cached, cached / fastapi, ""],
        ]
    spent = over_grpc(*SERVE, "--grpc-port", "{grpc}", health="/readyz")
    rows.append(["assay, gRPC", spent, spent / fastapi, spent / echo])
    if shutil.which("redis-server"):
        spent, waited = from_redis()
        rows.append([f"assay, JSON, Redis hit (+{waited:,.0f} µs a request)", spent, spent / fastapi, ""])
    show(["4 kB completions, 256 a request", "front CPU µs/item", ": FastAPI", ": echo"], rows)
