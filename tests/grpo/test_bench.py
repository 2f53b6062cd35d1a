"""`bench/gpu.py`: every path runs here once, in the interpreter; times are taken only where a GPU is."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_the_gpu_bench_rehearses_every_path() -> None:
    done = subprocess.run([sys.executable, "-m", "bench.gpu", "--rehearse"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "correct: 12 algorithms" in done.stdout and "left out" not in done.stdout
    assert not any(char in done.stdout for char in ("GB/s", " ms"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_it_measures_nothing_and_says_so() -> None:
    done = subprocess.run([sys.executable, "-m", "bench.gpu"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "nothing is measured" in done.stdout
