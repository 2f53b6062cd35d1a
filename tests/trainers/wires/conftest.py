"""Clients as others wrote them, against the wires; collected where those clients are installed."""

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from .._service import Service

collect_ignore_glob = [] if find_spec("sandbox_fusion") and find_spec("openrlhf") else ["*"]
MAPPED = {"verifier": "exact", "reference": {"mode": "number", "gold": "{label}", "extract": "whole"}}
WIRES = {
    "openrlhf": MAPPED,
    "slime": {**MAPPED, "reward_key": None},
    "nemo_gym": {**MAPPED, "reference": {**MAPPED["reference"], "gold": "{expected_answer}"}, "prefix": "/nemo"},
    "sandbox_fusion": {},
}


@pytest.fixture(scope="session")
def wires() -> Iterator[Service]:
    """Every wire on, with a sandbox."""
    if os.getuid() != 0 and not os.environ.get("ASSAY_SANDBOX_BACKENDS"):
        pytest.skip("programs need nsjail, which is tried as root here")
    one = Service(SANDBOX_BACKENDS='["nsjail"]', SANDBOX_SLOTS="1", WIRES=json.dumps(WIRES))
    yield one
    one.kill()
