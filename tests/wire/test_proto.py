"""The generated protobuf modules are those of service/proto/assay.proto, and mirror the models."""

import subprocess
from pathlib import Path

import pytest

from assay.wire import assay_pb2 as pb
from assay.wire.item import ITEM_FIELDS
from assay.wire.result import Result

ROOT = Path(__file__).parents[2]


def test_generated_is_committed(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools/proto.sh", tmp_path], check=True)
    for name in ("assay_pb2.py", "assay_pb2.pyi"):
        assert (tmp_path / name).read_text() == (ROOT / "client/assay/wire" / name).read_text()


def stem(name: str) -> str:
    return name.removesuffix("_json")


def test_every_field_of_an_item_has_its_place() -> None:
    names = {stem(name) for name in pb.Item.DESCRIPTOR.fields_by_name}
    assert set(ITEM_FIELDS) <= names | {"completion", "prompt"}


def test_every_field_of_a_result_has_its_place() -> None:
    names = {stem(name) for name in pb.Result.DESCRIPTOR.fields_by_name}
    inside = {"reward", "score", "outcome", "error"}  # the oneof's
    assert set(Result.model_fields) - inside <= names


def test_a_result_is_a_verdict_or_none() -> None:
    assert [f.name for f in pb.Result.DESCRIPTOR.oneofs_by_name["outcome_of"].fields] == ["verdict", "no_verdict"]


def test_no_verdict_is_not_a_reward_of_zero() -> None:
    result = pb.Result(id="a", no_verdict=pb.NoVerdict(code="deadline", retryable=True))
    back = pb.Result.FromString(result.SerializeToString())
    assert back.WhichOneof("outcome_of") == "no_verdict"


@pytest.mark.parametrize("number", [2**84, -(10**40), 2**53 + 1])
def test_large_integers_of_a_reference_survive(number: int) -> None:
    body = b'{"gold": %d}' % number
    item = pb.Item.FromString(pb.Item(reference_json=body).SerializeToString())
    assert item.reference_json == body
