"""Triton kernels, each with a torch implementation that it is compared with, and the switch between the two.

On CUDA the kernels run; on a CPU torch does, or the kernels in Triton's interpreter where
TRITON_INTERPRET=1 is set before the first import (the tests). Deterministic: no atomics. Scalars are
run-time arguments, so that a new length, temperature or clip width compiles nothing.
"""

from __future__ import annotations

from typing import Literal

import torch

Backend = Literal["auto", "torch", "triton"]


def use_triton(backend: Backend, device: torch.device) -> bool:
    """Return whether the kernels run. Raises ValueError for an unknown backend."""
    if backend not in ("auto", "torch", "triton"):
        raise ValueError(f"no such backend: {backend}")
    return backend == "triton" or (backend == "auto" and device.type == "cuda")
