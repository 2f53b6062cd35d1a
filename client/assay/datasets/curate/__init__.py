"""Curation: SFT data, preference pairs, and prompts of suitable difficulty from verified rollouts."""

from assay.datasets.curate.rollouts import Prompt, Rollout, prompts
from assay.datasets.curate.select import Rules, Tally, add_prompt, for_sft, in_band, pairs

__all__ = ["Prompt", "Rollout", "Rules", "Tally", "add_prompt", "for_sft", "in_band", "pairs", "prompts"]
