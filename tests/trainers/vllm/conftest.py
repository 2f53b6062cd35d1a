"""Collected only where vLLM is installed: a CPU build of it serves a model that these tests make."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = find_spec("vllm") is not None
collect_ignore_glob = [] if HERE else ["*"]

if HERE:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch

    torch.set_num_threads(1)

    from ._vllm import Vllm


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a tiny model with heads of 32 dimensions, which vLLM's CPU attention accepts, and its rows.

    The warm start is short: about half of the answers are right, so that groups have a gradient.
    """
    from assay.trainer_adapter.grpo.run import tiny

    folder = Path(tmp_path_factory.mktemp("tiny"))
    return tiny.prepare(folder, seed=0, limit=6, held_out=8, width=128, layers=1, warm_steps=12)


@pytest.fixture(scope="session")
def server(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator["Vllm"]:
    """One server for all tests: its start is most of their time."""
    one = Vllm(paths["model.path"], tmp_path_factory.mktemp("vllm") / "log")
    one.start()
    yield one
    one.kill()
