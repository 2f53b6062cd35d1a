"""Group advantages from rewards and offsets, one kernel program per group.

The torch implementation is `advantages.group_advantages`. The minimum is subtracted first, so equal rewards give
exactly 0; a group is live if its scores differ by more than `spread`. `whiten` needs the whole window and stays in
torch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import Backend, use_triton
from assay.trainer_adapter.grpo.objective.advantages import EPS, SPREAD, Advantages, Kind, group_advantages

KINDS = {"group_std": 0, "group": 1, "rloo": 2}


@triton.jit
def advantage_kernel(
    rewards, scores, offsets, values, live, scored, means, stds, eps, spread, ddof,
    KIND: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One group; NaN = no verdict, and a score of NaN is read as the reward."""
    group = tl.program_id(0)
    start = tl.load(offsets + group)
    size = tl.load(offsets + group + 1) - start
    lane = tl.arange(0, BLOCK)
    inside = lane < size
    reward = tl.load(rewards + start + lane, mask=inside, other=float("nan"))
    score = tl.load(scores + start + lane, mask=inside, other=float("nan"))
    valid = (reward == reward) & inside
    judged = tl.where(score == score, score, reward)
    count = tl.sum(valid.to(tl.int32))
    n = tl.maximum(count, 1).to(tl.float32)
    high = tl.max(tl.where(valid, judged, float("-inf")))
    low = tl.min(tl.where(valid, judged, float("inf")))
    alive = tl.where(count > 1, high - low, 0.0) > spread
    base = tl.where(count > 0, tl.min(tl.where(valid, reward, float("inf"))), 0.0)
    shifted = tl.where(valid, reward - base, 0.0)
    mean = tl.sum(shifted) / n
    centred = tl.where(valid, shifted - mean, 0.0)
    std = tl.sqrt(tl.sum(centred * centred) / tl.maximum(n - ddof, 1.0))
    if KIND == 0:
        value = tl.where(std + eps > 0, centred / tl.where(std + eps > 0, std + eps, 1.0), 0.0)
    elif KIND == 1:
        value = centred
    else:
        value = centred * (n / tl.maximum(n - 1.0, 1.0))
    tl.store(
        values + start + lane, tl.where(lane < tl.where(alive, size, 0), tl.where(valid, value, 0.0), 0.0), mask=inside
    )
    tl.store(live + group, alive.to(tl.int8))
    tl.store(scored + group, count)
    tl.store(means + group, tl.where(count > 0, base + mean, 0.0))
    tl.store(stds + group, std)


def advantages(
    rewards: Tensor,
    offsets: Tensor,
    *,
    kind: Kind = "group_std",
    scores: Tensor | None = None,
    eps: float = EPS,
    spread: float = SPREAD,
    ddof: int = 1,
    backend: Backend = "auto",
) -> Advantages:
    """Return `group_advantages` (see there), in fp32 by the kernel where the kernels run.

    `rewards`, `scores`: float [S]; `offsets`: int64 [groups + 1].
    """
    if kind not in KINDS or not use_triton(backend, rewards.device):
        return group_advantages(rewards, offsets, kind=kind, scores=scores, eps=eps, spread=spread, ddof=ddof)
    rewards = rewards.float().contiguous()
    scores = rewards if scores is None else scores.float().contiguous()
    groups = offsets.numel() - 1
    widest = int((offsets[1:] - offsets[:-1]).max()) if groups else 1
    values, means, stds = torch.empty_like(rewards), rewards.new_empty(groups), rewards.new_empty(groups)
    live = torch.empty(groups, dtype=torch.int8, device=rewards.device)
    scored = torch.empty(groups, dtype=torch.int32, device=rewards.device)
    if groups:
        advantage_kernel[(groups,)](
            rewards, scores, offsets.contiguous(), values, live, scored, means, stds, eps, spread, float(ddof),
            KIND=KINDS[kind], BLOCK=triton.next_power_of_2(max(widest, 2)), num_warps=1,
        )  # fmt: skip
    return Advantages(values, live.bool(), scored, means, stds)
