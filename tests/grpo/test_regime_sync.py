"""The sync regime is the loop of before: its committed metrics and weights, bit for bit on the same machine."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from assay.trainer_adapter.grpo.run import checkpoint
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import run_of

BEFORE = json.loads((Path(__file__).parent / "data" / "loop_before_regimes.json").read_text())


def cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def digest(out: Path) -> str:
    (file,) = checkpoint.list_all(out)[-1].glob("*model.safetensors")
    whole = hashlib.sha256()
    for name, value in sorted(load_file(file).items()):
        whole.update(name.encode())
        whole.update(value.numpy().tobytes())
    return whole.hexdigest()


@pytest.mark.parametrize("name", BEFORE["runs"])
def test_it_equals_the_metrics_of_the_loop_before(name: str, paths: dict[str, str], tmp_path: Path) -> None:
    before = BEFORE["runs"][name]
    Training(run_of(paths, *before["overrides"]), tmp_path, quiet=True).train()
    here = {"torch": torch.__version__, "cpu": cpu(), "capability": torch.backends.cpu.get_cpu_capability()}
    same_machine = here == BEFORE["machine"]
    for got, want in zip(read_lines(tmp_path / "metrics.jsonl"), before["metrics"], strict=True):
        for key, value in want.items():
            assert got[key] == (value if same_machine else approximately(value)), (got["step"], key)
        assert got["data_lag_max"] == 0 and got["publication_lag"] == 0
    assert [line["pass@1"] for line in read_lines(tmp_path / "evals.jsonl")] == [
        approximately(line["pass@1"]) for line in before["evals"]
    ]
    if same_machine:
        assert digest(tmp_path) == before["weights"]


def approximately(value: Any) -> Any:
    return pytest.approx(value, rel=1e-3, abs=1e-6) if isinstance(value, float) else value
