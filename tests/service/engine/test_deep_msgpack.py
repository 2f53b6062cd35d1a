"""Nesting that is too deep in msgpack is the fault of its item, and of nobody else's."""

import msgspec
import pytest

from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.work import Refused, Work

from .test_intake_cost import INTAKE

DEEP = {
    "arrays": b"\x91" * 100_000 + b"\x01",
    "maps": b"\x81\xa1k" * 100_000 + b"\x01",
    "wide arrays": b"\xdc\x00\x01" * 50_000 + b"\xc3",
    "both": b"\x91\x81\xa1k" * 50_000 + b"\xc0",
}


def row(field: str | None = None, value: bytes = b"") -> bytes:
    plain = {"verifier": "v", "completion": "x", "reference": {}}
    body = msgspec.msgpack.encode(plain | ({} if field is None else {field: 0}))
    return body if field is None else body[:-1] + value


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("field", ["final_state", "prompt", "scores", "completion_ids"])
def test_a_deep_value_is_its_items_fault(kind: str, field: str) -> None:
    items = [row(), row(field, DEEP[kind]), row(), row(field, DEEP[kind])]
    body = b"\x81\xa5items" + bytes([0x90 + len(items)]) + b"".join(items)
    entries = INTAKE.read_msgpack(body, owner="").entries
    assert [type(entry) for entry in entries] == [Work, Refused, Work, Refused]
    assert isinstance(entries[1], Refused) and entries[1].report.error and entries[1].report.error.field == field


@pytest.mark.parametrize("cut", [1, 1000, 99_000])
def test_a_deep_body_that_is_cut_short_is_a_fault_of_the_body(cut: int) -> None:
    body = b"\x81\xa5items\x91" + row("final_state", DEEP["arrays"])
    with pytest.raises(EnvelopeFault):
        INTAKE.read_msgpack(body[:-cut], owner="")
