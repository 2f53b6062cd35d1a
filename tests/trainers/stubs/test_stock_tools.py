"""A client that stock tools generate from the proto, in an environment without our package."""

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_tools import protoc

from .._service import ROOT, Service

BIG = 12345678901234567890123456789012


@pytest.fixture(scope="module")
def pb(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The generated messages and stub."""
    out = tmp_path_factory.mktemp("generated")
    proto = ROOT / "service/proto"
    assert protoc.main(["", f"-I{proto}", f"--python_out={out}", f"--grpc_python_out={out}", "assay.proto"]) == 0
    sys.path.insert(0, str(out))
    messages, services = importlib.import_module("assay_pb2"), importlib.import_module("assay_pb2_grpc")
    assert Path(str(messages.__file__)).parent == out
    messages.ScorerStub = services.ScorerStub
    return messages


@pytest.fixture
def stub(pb: Any, service: Service) -> Any:
    with grpc.insecure_channel(service.grpc.removeprefix("grpc://")) as channel:
        yield pb.ScorerStub(channel)


def item(pb: Any, text: str, gold: Any, **fields: Any) -> Any:
    reference = {"mode": "number", "gold": gold, "extract": "whole"}
    return pb.Item(verifier="exact", text=text, reference_json=json.dumps(reference).encode(), **fields)


def test_verdicts_come_in_order_and_null_is_no_number(pb: Any, stub: Any) -> None:
    asked = [item(pb, "4", "4"), item(pb, "5", "4"), item(pb, "4", None)]
    told = stub.Score(pb.ScoreRequest(items=asked), timeout=60).results
    assert [one.verdict.reward for one in told][:2] == [1.0, 0.0]
    assert math.isnan(told[2].verdict.reward) and math.isnan(told[2].verdict.score)
    assert told[2].no_verdict.code == "invalid_reference" and not told[0].HasField("no_verdict")


def test_big_integers_survive(pb: Any, stub: Any) -> None:
    told = stub.Score(pb.ScoreRequest(items=[item(pb, str(BIG + n), BIG) for n in (0, 1)]), timeout=60).results
    assert [one.verdict.reward for one in told] == [1.0, 0.0]
    assert str(BIG) in told[0].extracted_json.decode()


def test_a_stream_ends_with_done(pb: Any, stub: Any) -> None:
    asked = [item(pb, str(n), str(n - n % 2), group=f"g{n // 4}", id=f"i{n}") for n in range(32)]
    chunks = list(stub.ScoreStream(pb.ScoreRequest(items=asked), timeout=60))
    told = {one.id: one.verdict.reward for chunk in chunks for one in chunk.results}
    assert told == {f"i{n}": float(n % 2 == 0) for n in range(32)}
    assert (chunks[-1].done, chunks[-1].count) == (True, 32)


def test_a_refusal_names_its_field(pb: Any, stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        stub.Score(pb.ScoreRequest(), timeout=60)
    trailing = dict(refused.value.trailing_metadata())
    assert json.loads(trailing["assay-problem-bin"])["field"] == "items"


def test_every_verifier_says_what_its_reference_is(pb: Any, stub: Any) -> None:
    listed = {
        one.name: json.loads(one.reference_schema_json) for one in stub.Verifiers(pb.VerifiersRequest()).verifiers
    }
    assert {"exact", "math", "code", "tool"} <= set(listed)
