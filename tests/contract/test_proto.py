"""The generated protobuf modules match service/proto/assay.proto and the models."""

import math
import subprocess
from pathlib import Path

import pytest

from assay.contract import assay_pb2 as pb
from assay.contract.item import ITEM_FIELDS
from assay.contract.result import Result
from assay.service.engine.protocol import ErrorFrame
from assay.service.engine.render import ResultFrame, TimingFrame
from assay.service.rpc.results import result

ROOT = Path(__file__).parents[2]


def test_generated_modules_are_committed(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools/proto.sh", tmp_path], check=True)
    for name in ("assay_pb2.py", "assay_pb2.pyi"):
        assert (tmp_path / name).read_text() == (ROOT / "client/assay/contract" / name).read_text()


def stem(name: str) -> str:
    return name.removesuffix("_json")


def test_every_field_of_an_item_is_in_the_proto() -> None:
    names = {stem(name) for name in pb.Item.DESCRIPTOR.fields_by_name}
    assert set(ITEM_FIELDS) <= names | {"completion", "prompt"}


def test_every_field_of_a_result_is_in_the_proto() -> None:
    names = {stem(name) for name in pb.Result.DESCRIPTOR.fields_by_name}
    inside = {"reward", "score", "outcome", "error"}  # of `verdict` and `no_verdict`
    assert set(Result.model_fields) - inside <= names


def test_no_verdict_reads_as_nan_by_default() -> None:
    frame = ResultFrame(
        id="a",
        reward=None,
        score=None,
        outcome="no_verdict",
        reason="deadline",
        error=ErrorFrame("deadline", "not started", True),
        fields={},
        verifier="exact@1",
        timing=TimingFrame(),
    )
    back = pb.Result.FromString(result(frame).SerializeToString())
    assert math.isnan(back.verdict.reward) and math.isnan(back.verdict.score)
    assert back.no_verdict.code == "deadline" and back.verdict.outcome == pb.OUTCOME_NO_VERDICT


@pytest.mark.parametrize("number", [2**84, -(10**40), 2**53 + 1])
def test_large_integers_of_a_reference_survive(number: int) -> None:
    body = b'{"gold": %d}' % number
    item = pb.Item.FromString(pb.Item(reference_json=body).SerializeToString())
    assert item.reference_json == body
