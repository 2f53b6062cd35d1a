"""The shapes that trainers read: TRL's SFT and DPO columns, verl's SFT and RL Parquet, and rows of our own.

Prompts become messages; a completion that is messages stays so. Sources: TRL dataset formats (prompt, completion /
chosen, rejected), verl `examples/data_preprocess` (data_source, prompt, ability, reward_model, extra_info) and its
multi-turn SFT dataset (messages).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from assay.datasets.curate.rollouts import Prompt, Rollout

Line = dict[str, Any]
_ROW = ("verifier", "prompt", "reference", "source", "gold_completion", "prefill", "options")
_PLAIN = frozenset({"id", "group", "verifier", "source", "prefill", "prompt", "pass_rate"})
_ABILITIES = {"math": "math", "exact": "math", "code": "code", "tool": "tool"}


def messages(value: Any, role: str) -> list[Any]:
    """Text or messages as messages."""
    if isinstance(value, list):
        return value
    return [{"role": role, "content": "" if value is None else str(value)}]


def trl_sft(rollout: Rollout) -> Line:
    """TRL's conversational prompt and completion: the loss is on the completion alone."""
    prompt = messages(rollout.fields.get("prompt"), "user")
    return {"prompt": prompt, "completion": messages(rollout.completion, "assistant")}


def verl_sft(rollout: Rollout) -> Line:
    """verl's multi-turn SFT: one column of messages."""
    return {"messages": trl_sft(rollout)["prompt"] + trl_sft(rollout)["completion"]}


def trl_pair(chosen: Rollout, rejected: Rollout) -> Line:
    """TRL's explicit-prompt preference columns, which verl's and OpenRLHF's DPO loaders read too."""
    return {
        "prompt": messages(chosen.fields.get("prompt"), "user"),
        "chosen": messages(chosen.completion, "assistant"),
        "rejected": messages(rejected.completion, "assistant"),
    }


def own_rl(prompt: Prompt, index: int) -> Line:
    """Return the row without a completion, and how often it was solved."""
    fields = prompt.rollouts[0].fields
    kept = {name: fields[name] for name in _ROW if name in fields}
    return {"id": prompt.name, "group": prompt.name, **kept, "pass_rate": prompt.pass_rate}


def flat_rl(prompt: Prompt, index: int) -> Line:
    """Return the same for Parquet: what has many shapes is JSON text, which `assay score` reads as such."""
    row = own_rl(prompt, index)
    return {key: value if key in _PLAIN or _is_text(key, value) else json.dumps(value) for key, value in row.items()}


def _is_text(key: str, value: Any) -> bool:
    return value is None or (key == "gold_completion" and isinstance(value, str))


def trl_rl(prompt: Prompt, index: int) -> Line:
    """TRL's prompt, and the verifier and reference as columns of text for `assay.trainer_adapter.trl`."""
    row = own_rl(prompt, index)
    return {
        "prompt": messages(row.get("prompt"), "user"),
        "verifier": row.get("verifier"),
        "reference": json.dumps(row.get("reference")),
        "pass_rate": row["pass_rate"],
    }


def verl_rl(prompt: Prompt, index: int) -> Line:
    """verl's RL row; `ground_truth` is the reference as JSON text."""
    row = own_rl(prompt, index)
    verifier = str(row.get("verifier"))
    extra: Mapping[str, Any] = {
        "index": index, "split": "train", "id": prompt.name, "verifier": verifier, "pass_rate": row["pass_rate"],
    }  # fmt: skip
    return {
        "data_source": str(row.get("source", "assay")),
        "prompt": messages(row.get("prompt"), "user"),
        "ability": _ABILITIES.get(verifier.partition("@")[0], "other"),
        "reward_model": {"style": "rule", "ground_truth": json.dumps(row.get("reference"))},
        "extra_info": extra,
    }


SFT: dict[str, Callable[[Rollout], Line]] = {"trl": trl_sft, "verl": verl_sft}
RL: dict[str, Callable[[Prompt, int], Line]] = {"rows": own_rl, "trl": trl_rl, "verl": verl_rl}
