"""What a body costs the front: linear in its bytes, whatever it holds and whatever its items take from defaults."""

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from assay.contract.item import ITEM_FIELDS
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.validate import Intake
from assay.service.engine.intake.work import Refused, VerifierFacts, Work
from assay.service.engine.settings import Limits

FACTS = VerifierFacts(name="v", version=1, reads=frozenset(ITEM_FIELDS), sandboxed=False, cpu_s=1.0)
INTAKE = Intake(catalogue={"v": FACTS}, limits=Limits(), resolve=lambda owner, digest: None)
LONE, PAIR = rb"\ud800", rb"\ud83d\ude00"
HOSTILE_BYTES = 4_000_000


def item(completion: bytes = b"x", more: bytes = b"") -> bytes:
    return b'{"verifier": "v", "completion": "%s", "reference": {}%s}' % (completion, more)


def body(*items: bytes, prompt: bytes | None = None) -> bytes:
    defaults = b"" if prompt is None else b'"defaults": {"prompt": %s}, ' % prompt
    return b'{%s"items": [%s]}' % (defaults, b", ".join(items))


BODIES: dict[str, Callable[[int], bytes]] = {
    "one completion of lone surrogates": lambda n: body(item(LONE * (n // 6))),
    "pairs and one that is alone": lambda n: body(item(PAIR * (n // 12) + LONE)),
    "many items of lone surrogates": lambda n: body(*[item(LONE * (n // 6 // 2000))] * 2000),
    "defaults of lone surrogates": lambda n: body(*[item()] * 100, prompt=b'"%s"' % (LONE * (n // 6))),
    "a long default and many items": lambda n: body(*[item()] * 4000, prompt=b'"%s"' % (b"x" * n)),
    "escaped backslashes": lambda n: body(item(rb"\\" * (n // 2 - 1) + LONE)),
    "nesting that is too deep": lambda n: body(*[item(more=b', "prompt": ' + b"[" * 300 + b"]" * 300)] * (n // 650)),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_read_in_linear_time(name: str) -> None:
    """4 MB of lone surrogates in the defaults of 4,096 items once took 65 s, in one completion 3 s."""
    hostile = BODIES[name](HOSTILE_BYTES)
    started = time.process_time()
    with suppress(EnvelopeFault):
        INTAKE.read_json(hostile, owner="")
    assert time.process_time() - started < 10


def test_defaults_that_all_items_together_cannot_hold_are_refused() -> None:
    with pytest.raises(EnvelopeFault, match="defaults: times the number of items"):
        INTAKE.read_json(body(*[item()] * 4000, prompt=b'"%s"' % (b"x" * 1_000_000)), owner="")


def test_a_default_is_checked_once_and_is_the_fault_of_each_item() -> None:
    wrong = INTAKE.read_json(body(item(), item(more=b', "prompt": "p"'), prompt=b"7"), owner="").entries
    assert isinstance(wrong[0], Refused) and isinstance(wrong[1], Work)
    right = INTAKE.read_json(body(item(), item(more=b', "prompt": 7'), prompt=b'"p"'), owner="").entries
    assert isinstance(right[0], Work) and isinstance(right[1], Refused)
    assert json.loads(right[0].fields["prompt"]) == "p"


def test_which_field_a_surrogate_was_in_is_known() -> None:
    fields = b', "prompt": "\\ud800", "prefill": "a'
    entries = INTAKE.read_json(body(item(), item(LONE), item(more=fields + b'"'), item()), owner="").entries
    flagged = [entry.flags for entry in entries if isinstance(entry, Work)]
    assert flagged == [(), ("lone_surrogates",), ("lone_surrogates",), ()]
    reference = b'{"verifier": "v", "completion": "x", "reference": {"a": "\\ud800"}}'
    (refused,) = INTAKE.read_json(body(reference), owner="").entries
    assert isinstance(refused, Refused) and refused.report.error is not None
    assert refused.report.error.field == "reference"
