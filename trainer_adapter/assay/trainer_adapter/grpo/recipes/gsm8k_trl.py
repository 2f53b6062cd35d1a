"""The lab as a TRL script: GRPO on GSM8K with Qwen2.5-1.5B-Instruct, the boxed answer judged by Assay.

    python -m assay.trainer_adapter.grpo.recipes.gsm8k_trl --data gsm8k/train.jsonl --out runs/gsm8k-trl

Needs trl and peft beside assay. Rows are the data set's own: {"question": ..., "answer": "... #### 42"}.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from assay.trainer_adapter.trl import AssayReward

SYSTEM = "Think step by step, then put the final answer within \\boxed{}."
REFERENCE = {"mode": "number", "gold": "{answer}", "gold_extract": "hash4", "extract": "boxed"}


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="Qwen/Qwen2.5-1.5B-Instruct")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--url", default="embedded:", help="Assay: a service, or an engine in this machine")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--prompts", type=int, default=32, help="prompts a step")
    parser.add_argument("--group", type=int, default=8, help="completions a prompt")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--cpu", action="store_true")
    return parser.parse_args(arguments)


def rows(path: Path) -> Any:
    """The data set, with the prompt as messages."""
    from datasets import Dataset

    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    system = {"role": "system", "content": SYSTEM}
    return Dataset.from_list([
        {"prompt": [system, {"role": "user", "content": line["question"]}], "answer": line["answer"]} for line in lines
    ])  # fmt: skip


def config(asked: argparse.Namespace) -> Any:
    """TRL's configuration: the formulas of docs/losses.md's `grpo`, as TRL names them."""
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=str(asked.out),
        max_steps=asked.steps,
        per_device_train_batch_size=asked.group,
        gradient_accumulation_steps=asked.prompts,
        num_generations=asked.group,
        max_completion_length=asked.max_tokens,
        temperature=1.0,
        top_p=1.0,
        loss_type="grpo",
        beta=0.001,
        learning_rate=1e-5,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        bf16=not asked.cpu,
        use_cpu=asked.cpu,
        gradient_checkpointing=not asked.cpu,
        logging_steps=1,
        save_strategy="no" if asked.cpu else "steps",
        report_to="none",
    )


def main(arguments: list[str] | None = None) -> Any:
    """Train; returns TRL's trainer."""
    from peft import LoraConfig
    from trl import GRPOTrainer

    asked = options(arguments)
    trainer = GRPOTrainer(
        model=asked.model,
        reward_funcs=[AssayReward("exact", REFERENCE, url=asked.url)],
        args=config(asked),
        train_dataset=rows(asked.data),
        peft_config=LoraConfig(r=32, lora_alpha=64, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    trainer.train()
    return trainer


if __name__ == "__main__":
    main()
