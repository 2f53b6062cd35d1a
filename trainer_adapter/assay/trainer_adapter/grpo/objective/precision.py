"""Matrix products with fp32 results."""

from __future__ import annotations

import torch
from torch import Tensor


def product32(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b with fp32 accumulation and an fp32 result; fp64 operands give fp64."""
    if a.dtype == b.dtype and a.dtype in (torch.float32, torch.float64):
        with torch.autocast(a.device.type, enabled=False):
            return torch.mm(a, b)
    if a.is_cuda and a.dtype == b.dtype:
        return torch.mm(a, b, out_dtype=torch.float32)
    with torch.autocast(a.device.type, enabled=False):  # it would round the operands again, and the result
        return torch.mm(a.float(), b.float())
