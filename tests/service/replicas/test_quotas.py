"""Quotas per key and window: refused with 429 naming the quota, and refused items are not counted."""

import json
import socket

import pytest

from assay.client import Overloaded
from assay.client.grpc_transport import GrpcTransport
from assay.client.http_transport import HttpTransport
from assay.service.engine.errors import EnvelopeFault, QuotaExceeded
from assay.service.replicas.quotas import Quotas
from assay.service.replicas.settings import QuotaSettings

from ..http.conftest import JSON, exact, served


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def quotas(**bounds: float) -> tuple[Quotas, Clock]:
    clock = Clock()
    return Quotas(QuotaSettings(window_s=100, **bounds), clock=clock), clock


def test_the_item_quota_is_reset_in_the_next_window() -> None:
    bound, clock = quotas(items=10)
    bound.admit("a", 8)
    with pytest.raises(QuotaExceeded) as refused:
        bound.admit("a", 3)
    assert (refused.value.quota, refused.value.limit, refused.value.retry_after_s) == ("items", 10, 100)
    bound.admit("a", 2)
    clock.now += 100
    bound.admit("a", 10)


def test_quotas_of_keys_are_independent() -> None:
    bound, _ = quotas(items=10)
    bound.admit("a", 10)
    bound.admit("b", 10)


def test_the_quota_of_seconds_is_enforced() -> None:
    bound, _ = quotas(cpu_s=1.5)
    bound.admit("a", 1)
    bound.charge("a", 1.5)
    with pytest.raises(QuotaExceeded, match="cpu_s"):
        bound.admit("a", 1)


def test_items_that_were_not_accepted_are_not_counted() -> None:
    bound, _ = quotas(items=10)
    bound.admit("a", 10)
    bound.refund("a", 10)
    bound.admit("a", 10)


def test_a_batch_larger_than_the_quota_is_not_retryable() -> None:
    with pytest.raises(EnvelopeFault) as fault:
        quotas(items=10)[0].admit("a", 11)
    assert fault.value.status == 413


async def test_over_http_it_is_429_with_retry_after_and_the_quotas_name() -> None:
    async with served(quota={"items": 3}) as (_, http):
        assert (await http.post("/v1/score", json={"items": [exact(), exact("5")]})).status_code == 200
        refused = await http.post("/v1/score", json={"items": [exact(), exact("5")]})
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        told = refused.json()
        assert (told["type"], told["quota"], told["limit"]) == ("urn:assay:problem:quota_exceeded", "items", 3)
        assert (await http.post("/v1/score", json={"items": [exact()]})).status_code == 200
        assert 'assay_quota_refused_total{quota="items"} 1.0' in (await http.get("/metrics")).text


async def test_a_protocol_answers_an_exceeded_quota_as_retryable() -> None:
    wires = {"slime": {"verifier": "exact", "reference": {"mode": "string", "gold": "{label}", "extract": "whole"}}}
    async with served(quota={"items": 1}, wires=wires) as (_, http):
        bodies = [{"prompt": "", "response": "4", "label": "4"}] * 2
        first, second = [await http.post("/slime", json=body) for body in bodies]
    assert (first.status_code, second.status_code) == (200, 503) and int(second.headers["retry-after"]) >= 1


async def test_the_client_reports_the_exceeded_quota_over_http_and_grpc() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    body = json.dumps({"items": [exact()]}).encode()
    async with served(quota={"items": 1}, grpc_port=port) as (_, http):
        await http.post("/v1/score", content=body, headers=JSON)
        over_grpc = GrpcTransport(f"grpc://127.0.0.1:{port}")
        over_http = HttpTransport("http://127.0.0.1")
        await over_http.aclose()
        over_http._client = http
        for transport in (over_grpc, over_http):
            with pytest.raises(Overloaded, match="the quota items of 1 is used up"):
                await transport.score(body, timeout_s=10)
        await over_grpc.aclose()
