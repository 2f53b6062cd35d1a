"""One caller cannot stop the others: strangers, slow senders, big bodies and floods of connections."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest

from assay.client import AsyncClient, Client

from ._service import free_port, serving

KEYS = ["key-of-tenant-a", "key-of-tenant-b"]
BASE = {"ASSAY_SANDBOX_BACKENDS": "[]", "ASSAY_KEYS": json.dumps(KEYS)}
ITEM = {"verifier": "exact", "completion": "1", "reference": {"mode": "string", "gold": "1", "extract": "whole"}}
MIB = 1 << 20


def head(key: str | None, length: int | None) -> bytes:
    lines = ["POST /v1/score HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"Authorization: Bearer {key}"] if key else []
    lines += ["Transfer-Encoding: chunked"] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def status(one: socket.socket) -> int:
    """The status that the service has sent, or 0 for a closed connection."""
    try:
        return int(one.recv(4096).split(b" ")[1])
    except (IndexError, ConnectionError):
        return 0


def score_s(port: int, key: str) -> float:
    """Seconds that a new client needs for one item."""
    started = time.monotonic()
    with Client(f"http://127.0.0.1:{port}", api_key=key, tries=1) as client:
        assert client.score([ITEM], deadline_s=20)[0].reward == 1.0
    return time.monotonic() - started


@pytest.mark.parametrize("method", ["Score", "ScoreStream"])
@pytest.mark.parametrize("key", [None, "no-such-key-at-all"])
async def test_a_message_without_a_key_is_not_read(method: str, key: str | None) -> None:
    port, rpc = free_port(), free_port()
    with serving(port, **BASE, ASSAY_GRPC_PORT=str(rpc)) as service:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{rpc}", [("grpc.max_send_message_length", -1)]) as channel:
            make = channel.unary_unary if method == "Score" else channel.unary_stream
            call = make(f"/assay.v1.Scorer/{method}")
            metadata = (("authorization", f"Bearer {key}"),) if key else ()
            before = service.memory_info().rss

            async def send() -> grpc.StatusCode:
                try:
                    answer = call(bytes(60 * MIB), metadata=metadata, timeout=60)
                    if method == "Score":
                        await answer
                    else:
                        async for _ in answer:
                            pass
                except grpc.aio.AioRpcError as error:
                    assert "assay-problem-bin" in dict(error.trailing_metadata() or ())
                    return error.code()
                return grpc.StatusCode.OK

            codes = await asyncio.gather(*[send() for _ in range(8)])
            peak = service.memory_info().rss
        assert set(codes) == {grpc.StatusCode.UNAUTHENTICATED}
        assert peak - before < 60 * MIB
        score_s(port, KEYS[0])


def test_bodies_in_flight_are_bounded_and_no_key_takes_anothers_part() -> None:
    port = free_port()
    with serving(port, **BASE, ASSAY_LIMITS__INFLIGHT_BYTES=str(8 * MIB)) as service, ExitStack() as stack:
        before, waiting, refused = service.memory_info().rss, [], 0
        for number in range(40):
            one = stack.enter_context(opened(port))
            if number % 2:
                one.sendall(head(KEYS[0], MIB) + b" " * (MIB // 2))
            else:
                one.sendall(head(KEYS[0], None) + b"80000\r\n" + b" " * 0x80000 + b"\r\n")
            waiting.append(one)
        time.sleep(1)
        for one in waiting:
            one.settimeout(0.01)
            try:
                refused += status(one) == 429
            except TimeoutError:
                continue
        assert 20 <= refused < 40 and service.memory_info().rss - before < 60 * MIB
        assert score_s(port, KEYS[1]) < 10
        for one in waiting:
            one.close()
        time.sleep(0.5)
        assert score_s(port, KEYS[0]) < 10  # what was given back can be taken again


SLOW = {
    "nothing": [b""],
    "empty lines": [b"\r\n"] * 40,
    "half of a head": [head(None, 10)[:40]],
    "a head byte by byte": [bytes([byte]) for byte in head(None, 10)[:60]],
    "half of a body": [head(KEYS[0], 1000), b"{"],
    "a body byte by byte": [head(KEYS[0], 1000), *[b" "] * 60],
    "a chunked body": [head(KEYS[0], None), *[b"1\r\n \r\n"] * 60],
    "a body after a refusal": [head(None, 1000), *[b" "] * 60],
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_sender_is_cut_off(name: str) -> None:
    port = free_port()
    with serving(port, **BASE, ASSAY_LIMITS__READ_S="1.5") as service:
        with opened(port) as one:
            for part in SLOW[name]:
                try:
                    one.sendall(part)
                except ConnectionError:
                    break
                time.sleep(0.1)
            one.settimeout(15)
            try:
                while one.recv(65536):  # until the service closes
                    pass
            except ConnectionError:
                pass
        assert not [c for c in service.net_connections("tcp") if c.status == psutil.CONN_ESTABLISHED]
        score_s(port, KEYS[0])


def test_a_slow_verdict_is_not_a_slow_sender() -> None:
    port = free_port()
    with serving(port, **BASE, ASSAY_LIMITS__READ_S="0.3") as _, opened(port) as one:
        rows = [{"verifier": "slow", "completion": "yes", "reference": {"word": "yes", "n": n}} for n in range(600)]
        body = json.dumps({"items": rows}).encode()
        one.sendall(head(KEYS[0], len(body)) + body + b"\r\n")
        one.settimeout(60)
        assert status(one) == 200


def test_idle_strangers_make_room_before_anybody_else() -> None:
    port = free_port()
    with serving(port, within=["prlimit", "--nofile=400:400"], **BASE) as service, ExitStack() as stack:
        known = stack.enter_context(Client(f"http://127.0.0.1:{port}", api_key=KEYS[1], tries=1))
        assert known.score([ITEM])[0].reward == 1.0
        for _ in range(600):
            stack.enter_context(opened(port))
        assert score_s(port, KEYS[0]) < 10
        assert known.score([ITEM])[0].reward == 1.0  # over the connection that it already had
        assert service.num_fds() < 300


async def test_messages_of_one_key_that_do_not_arrive_stop_no_other_key() -> None:
    port, rpc = free_port(), free_port()
    with serving(port, **BASE, ASSAY_GRPC_PORT=str(rpc), ASSAY_LIMITS__READ_S="2"):
        async with grpc.aio.insecure_channel(f"127.0.0.1:{rpc}") as channel:
            call = channel.stream_unary("/assay.v1.Scorer/Score")
            metadata = (("authorization", f"Bearer {KEYS[0]}"),)

            async def silence() -> AsyncIterator[bytes]:
                await asyncio.sleep(30)
                yield b""

            stuck: list[Any] = [call(silence(), metadata=metadata) for _ in range(20)]
            await asyncio.sleep(0.5)
            async with AsyncClient(f"grpc://127.0.0.1:{rpc}", api_key=KEYS[1], tries=1) as other:
                assert (await other.score([ITEM], deadline_s=5))[0].reward == 1.0
            codes = set()
            for one in stuck[:4]:
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await one
                codes.add(error.value.code())
            for one in stuck[4:]:
                one.cancel()
    assert codes == {grpc.StatusCode.DEADLINE_EXCEEDED}


def test_the_command_line_invalidates_a_verdict(tmp_path: Path) -> None:
    port, key = free_port(), tmp_path / "my.key"
    key.write_text(KEYS[0])
    with serving(port, **BASE), Client(f"http://127.0.0.1:{port}", api_key=KEYS[0]) as client:
        url = ["--server", f"http://127.0.0.1:{port}", "--api-key-file", str(key)]

        def invalidate(*options: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "assay", "invalidate", *url, *options]
            return subprocess.run(command, capture_output=True, text=True, timeout=60)

        client.score([ITEM])
        assert "0 verdicts" in invalidate("--until", "2001-01-01").stdout and client.score([ITEM])[0].cached
        done = invalidate("--verifier", "exact", "--since", "2001-01-01T00:00:00")
        assert "1 verdicts dropped" in done.stdout, done.stderr
        assert not client.score([ITEM])[0].cached and invalidate().returncode == 2
