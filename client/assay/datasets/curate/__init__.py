"""Curate: verified rollouts become SFT data, preference pairs, and prompts of the right difficulty."""

from assay.datasets.curate.rollouts import Prompt, Rollout, prompts
from assay.datasets.curate.select import Rules, Tally, for_sft, in_band, pairs

__all__ = ["Prompt", "Rollout", "Rules", "Tally", "for_sft", "in_band", "pairs", "prompts"]
