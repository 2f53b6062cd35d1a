"""Algorithms by their usual names: one table, each entry with its source. Any field can be overridden.

Clip widths are distances from 1 (`geometric`: from 0 in log space). Where libraries use one name in two meanings,
docs/losses.md says which is meant here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.trainer_adapter.grpo.objective.advantages import Kind
from assay.trainer_adapter.grpo.objective.losses import LossSpec
from assay.trainer_adapter.grpo.objective.weights import Normaliser


@dataclass(frozen=True)
class Preset:
    """An algorithm: how rewards become advantages, tokens become a loss, and tokens are weighted."""

    advantage: Kind
    loss: LossSpec
    normaliser: Normaliser
    source: str
    kl_in: str = "loss"
    dynamic_sampling: bool = False


_GSPO = LossSpec(ratio="sequence", clip_low=3e-4, clip_high=4e-4)

PRESETS: Mapping[str, Preset] = {
    "grpo": Preset("group_std", LossSpec(), "sequence", "DeepSeekMath, arXiv:2402.03300, eq. 3"),
    "bnpo": Preset("group_std", LossSpec(), "tokens", "TRL's bnpo, over the window instead of the micro-batch"),
    "dr_grpo": Preset("group", LossSpec(), "constant", "Dr. GRPO, arXiv:2503.20783"),
    "dapo": Preset("group_std", LossSpec(clip_high=0.28), "tokens", "DAPO, arXiv:2503.14476", dynamic_sampling=True),
    "gspo": Preset("group_std", _GSPO, "sequence", "GSPO, arXiv:2507.18071"),
    "gspo_token": Preset(
        "group_std", replace(_GSPO, ratio="sequence_token"), "sequence", "GSPO-token, arXiv:2507.18071"
    ),
    "cispo": Preset("group_std", LossSpec(surrogate="cispo"), "tokens", "MiniMax-M1, arXiv:2506.13585"),
    "sapo": Preset("group_std", LossSpec(surrogate="sapo"), "sequence", "SAPO, arXiv:2511.20347"),
    "gmpo": Preset(
        "group_std", LossSpec(ratio="geometric", clip_low=0.4, clip_high=0.4), "sequence", "GMPO, arXiv:2507.20673"
    ),
    "rloo": Preset("rloo", LossSpec(ratio="trajectory", kl="k1"), "sequence", "RLOO, arXiv:2402.14740", kl_in="reward"),
    "reinforce_pp": Preset(
        "whiten", LossSpec(kl="k2"), "tokens", "REINFORCE++ with a group baseline, arXiv:2501.03262"
    ),
    "luspo": Preset("group_std", _GSPO, "sum", "LUSPO: GSPO times the length"),
}
