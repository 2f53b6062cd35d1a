"""Data parallelism under torchrun: sums over ranks. One process is the case of one rank.

Gradients are summed, not averaged: the weights of `weights.py` already hold the global denominators.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class Ranks:
    """The ranks of this run, from torchrun's environment where there is one."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.size > 1:
            if torch.cuda.is_available():
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes files."""
        return self.rank == 0

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum over ranks; `value` is not changed."""
        if self.size == 1:
            return value
        total = value.detach().clone()
        if torch.cuda.is_available():
            total = total.cuda()
        dist.all_reduce(total)
        return total.to(value.device)

    def sum_gradients(self, parameters: list[Any]) -> None:
        """Replace every gradient by its sum over ranks, one flat buffer per dtype; a missing gradient counts as 0."""
        if self.size == 1:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        for dtype in sorted({parameter.grad.dtype for parameter in parameters}, key=str):
            some = [parameter.grad for parameter in parameters if parameter.grad.dtype == dtype]
            flat = torch.cat([gradient.flatten() for gradient in some])
            dist.all_reduce(flat)
            start = 0
            for gradient in some:
                gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
                start += gradient.numel()

    def gather(self, values: list[int]) -> list[int]:
        """Return the integers of all ranks, rank by rank."""
        if self.size == 1:
            return values
        counts = torch.zeros(self.size, dtype=torch.int64)
        counts[self.rank] = len(values)
        counts = self.sum(counts)
        table = torch.zeros(self.size, max(int(counts.max()), 1), dtype=torch.int64)
        table[self.rank, : len(values)] = torch.tensor(values, dtype=torch.int64)
        table = self.sum(table)
        return [value for line, count in zip(table.tolist(), counts.tolist(), strict=True) for value in line[:count]]

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the process group."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
