"""The intake takes in what the contract's models take in, in JSON and in msgpack alike."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from assay.contract.item import ITEM_FIELDS, Item
from assay.service.engine.intake.frames import FIELDS
from assay.service.engine.intake.keys import item_key
from assay.service.engine.intake.surrogates import replace_lone
from assay.service.engine.intake.validate import Intake
from assay.service.engine.intake.work import VerifierFacts, Work
from assay.service.engine.settings import Limits

FACTS = VerifierFacts(name="v", version=1, reads=frozenset(ITEM_FIELDS), sandboxed=False, cpu_s=1.0)
INTAKE = Intake(catalogue={"v": FACTS}, limits=Limits(), resolve=lambda owner, digest: None)
text = st.text(st.characters(codec="utf-8"), max_size=30)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(text, v, max_size=3), max_leaves=6)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
fields = st.fixed_dictionaries(
    {
        "verifier": st.sampled_from(["v", "v@1"]),
        "completion": text,
        "reference": st.dictionaries(text, values, max_size=3),
    },
    optional={
        "id": st.none() | text,
        "prompt": st.none() | text,
        "prefill": st.none() | text,
        "group": st.none() | text,
        "run": st.none() | text,
        "step": st.none() | st.integers(-(2**63), 2**63 - 1),
        "completion_tokens": st.none() | st.integers(0, 2**31),
        "completion_ids": st.none() | st.lists(st.integers(-(2**31), 2**31), max_size=4),
        "scores": st.none() | st.dictionaries(text, numbers, max_size=3),
        "final_state": values,
        "truncated": st.none() | st.booleans(),
        "options": st.none()
        | st.fixed_dictionaries({}, optional={"cpu_s": st.floats(0.01, 60), "explain": st.booleans()}),
    },
)
OPEN = ("reference", "final_state", "scores", "completion_ids")


def packed(row: dict[str, Any]) -> bytes:
    """The same item in msgpack: open values as JSON in bin."""
    item = {name: json.dumps(value).encode() if name in OPEN else value for name, value in row.items()}
    return msgspec.msgpack.encode({"items": [item]})


def test_the_intake_knows_the_contracts_fields() -> None:
    assert set(FIELDS) == set(ITEM_FIELDS)


@given(fields)
def test_what_the_models_take_in_the_intake_takes_in(row: dict[str, Any]) -> None:
    Item.model_validate_json(json.dumps(row))
    (entry,) = INTAKE.read_json(json.dumps({"items": [row]}).encode(), owner="").entries
    assert isinstance(entry, Work), entry
    assert entry.completion == row["completion"] and json.loads(entry.reference) == row["reference"]


@given(fields)
def test_json_and_msgpack_amount_to_the_same_key(row: dict[str, Any]) -> None:
    (one,) = INTAKE.read_json(json.dumps({"items": [row]}).encode(), owner="").entries
    (two,) = INTAKE.read_msgpack(packed(row), owner="").entries
    assert isinstance(one, Work) and isinstance(two, Work)
    assert one.completion == two.completion and set(one.fields) == set(two.fields)
    assert json.loads(one.reference) == json.loads(two.reference)
    if "prompt" not in row and "prefill" not in row:
        assert item_key(one) == item_key(two)


@given(st.text(max_size=20))
def test_only_lone_surrogates_are_replaced(value: str) -> None:
    body = json.dumps(value).encode()
    lone = [c for c in value if 0xD800 <= ord(c) <= 0xDFFF]
    assert json.loads(replace_lone(body)) == "".join("\ufffd" if c in lone else c for c in value)


def test_an_escaped_backslash_before_u_is_no_surrogate() -> None:
    assert replace_lone(rb'"\\ud800"') == rb'"\\ud800"'
    assert replace_lone(rb'"\\\ud800"') == rb'"\\\ufffd"'
    assert replace_lone(rb'"\ud800\\udc00"') == rb'"\ufffd\\udc00"'
    assert replace_lone(rb'"\ud83d\ude00\ud83d"') == rb'"\ud83d\ude00\ufffd"'
    assert replace_lone(rb'"\uD83D\uD83D\uDE00\uDE00"') == rb'"\ufffd\uD83D\uDE00\ufffd"'
