"""Tests of the bundled loop run where torch is (`make test-train`); elsewhere nothing here is collected."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HAVE = find_spec("torch") is not None
collect_ignore_glob = [] if HAVE else ["test_*.py"]

if HAVE:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    if not torch.cuda.is_available():
        os.environ.setdefault("TRITON_INTERPRET", "1")
    torch.set_num_threads(1)
    # what nobody has written is NaN, so that a test which reads it fails each time and not now and then
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(True, warn_only=True)


@pytest.fixture(autouse=True, scope="session")
def sessions() -> Iterator[None]:
    """No session outlives the tests."""
    yield
    from assay.trainer_adapter.sessions import close_all

    close_all()


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A tiny model, its rows and held-out rows."""
    from ._tiny import make

    return make(Path(tmp_path_factory.mktemp("tiny")))
