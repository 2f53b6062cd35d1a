"""Triton kernels, each beside its torch reference; one switch says which of the two runs.

On CUDA the kernels run; on a CPU torch does, or the kernels in Triton's interpreter where
TRITON_INTERPRET=1 is set before the first import (the tests). Deterministic: no atomics. Scalars are
run-time arguments, so no new length, temperature or clip width compiles anything anew.
"""

from __future__ import annotations

from typing import Literal

import torch

Backend = Literal["auto", "torch", "triton"]


def use_triton(backend: Backend, device: torch.device) -> bool:
    """Whether the kernels run. Raises `ValueError` for an unknown backend."""
    if backend not in ("auto", "torch", "triton"):
        raise ValueError(f"no such backend: {backend}")
    return backend == "triton" or (backend == "auto" and device.type == "cuda")
