"""Checkpoints: weights and optimizer in safetensors, the position of the run in JSON.

A checkpoint is written under another name and renamed, so that a killed run leaves complete ones only. Random numbers
and the learning rate are functions of the step, so they have no state.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy

FOLDER = "checkpoints"


@dataclass(frozen=True)
class Position:
    """Position of a run: steps done, prompts drawn, and the fingerprint of the configuration that must resume it."""

    step: int
    cursor: int
    fingerprint: str
    seconds: float = 0.0


def save(out: Path, position: Position, policy: Policy, optimizer: Any, *, keep: int) -> Path:
    """Write a checkpoint, and delete all but the last `keep`."""
    from safetensors.torch import save_file

    target = out / FOLDER / f"step-{position.step:06d}"
    draft = target.with_name(target.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    policy.save(draft)
    save_file(_flat(optimizer), draft / "optimizer.safetensors")
    (draft / "place.json").write_text(json.dumps(asdict(position)))
    shutil.rmtree(target, ignore_errors=True)
    os.rename(draft, target)
    for old in list_all(out)[:-keep]:
        shutil.rmtree(old)
    return target


def list_all(out: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return sorted(path for path in (out / FOLDER).glob("step-*") if path.suffix != ".draft" and path.is_dir())


def oldest_step(out: Path) -> int:
    """Return the step of the oldest complete checkpoint, or 0 if there is none."""
    found = list_all(out)
    return int(json.loads((found[0] / "place.json").read_text())["step"]) if found else 0


def restore(folder: Path, policy: Policy, optimizer: Any, *, fingerprint: str) -> Position:
    """Load a checkpoint. Raises ConfigurationError if it belongs to another configuration."""
    from safetensors.torch import load_file

    position = Position(**json.loads((folder / "place.json").read_text()))
    if position.fingerprint != fingerprint:
        raise ConfigurationError(
            f"{folder}: made under another configuration; use another --out, or the same "
            "file (--steps may change where optimizer.schedule is constant)"
        )
    policy.restore(folder)
    _unflat(optimizer, load_file(folder / "optimizer.safetensors"))
    return position


def _flat(optimizer: Any) -> dict[str, Any]:
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": value.detach().cpu().contiguous().clone()
        for index, entries in state.items()
        for name, value in entries.items()
        if isinstance(value, torch.Tensor)
    }


def _unflat(optimizer: Any, tensors: dict[str, Any]) -> None:
    whole = optimizer.state_dict()
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        index, _, field = name.partition(".")
        state.setdefault(int(index), {})[field] = value
    optimizer.load_state_dict({**whole, "state": state})
