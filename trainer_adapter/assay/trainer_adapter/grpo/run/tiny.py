"""The demo's model, of a few hundred thousand parameters, and sums to train it on, made offline.

A tokenizer of single characters, a Qwen2 of two layers, and a short supervised warm start, so that the first
rewards are neither all 0 nor all 1. The warm start sees the training pairs only, never the held-out ones.
"""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch

CHARACTERS = string.digits + "+=-"
PAD, END = "<pad>", "<end>"


def tokenizer() -> Any:
    """Return a tokenizer with one token per character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = [PAD, END, *CHARACTERS]
    inner = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, unk_token=PAD))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token=PAD, eos_token=END, padding_side="left")


def model(words: Any, *, width: int, layers: int, seed: int) -> Any:
    """Return a small Qwen2 with random weights."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(words), hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers,
            num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64,
            pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id, bos_token_id=None,
        )
    )  # fmt: skip


def sums(limit: int, *, held_out: int, seed: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return every sum of two numbers below `limit`, shuffled, as rows to train on and held-out rows."""
    pairs = [(a, b) for a in range(limit) for b in range(limit)]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()
    digits = len(str(limit - 1))
    rows = [
        {"question": f"{pairs[at][0]:0{digits}d}+{pairs[at][1]:0{digits}d}=", "answer": str(sum(pairs[at]))}
        for at in order
    ]
    return rows[held_out:], rows[:held_out]


def warm_start(
    model: Any, words: Any, rows: list[dict[str, str]], *, steps: int, batch: int, lr: float, seed: int
) -> None:
    """Make supervised steps on the answers of `rows`; the loss is over the answer and its end token."""
    lines = [_line(words, row) for row in rows]
    width = max(len(ids) for ids, _ in lines)
    ids = torch.tensor([ids + [words.pad_token_id] * (width - len(ids)) for ids, _ in lines])
    labels = torch.tensor([[-100] * start + ids[start:] + [-100] * (width - len(ids)) for ids, start in lines])
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.99))
    random = torch.Generator().manual_seed(seed)
    model.train()
    for _ in range(steps):
        at = torch.randint(0, len(lines), (batch,), generator=random)
        logits = model(input_ids=ids[at]).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[at][:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def _line(words: Any, row: dict[str, str]) -> tuple[list[int], int]:
    question = words(row["question"])["input_ids"]
    return [*question, *words(row["answer"])["input_ids"], words.eos_token_id], len(question)


def prepare(
    out: Path, *, seed: int, limit: int = 30, held_out: int = 128, width: int = 96, layers: int = 2,
    warm_steps: int = 200, warm_batch: int = 128, warm_lr: float = 2e-3,
) -> dict[str, str]:  # fmt: skip
    """Write model, rows and held-out rows under `out`; return the configuration that they fill in."""
    words = tokenizer()
    train, held = sums(limit, held_out=held_out, seed=seed)
    small = model(words, width=width, layers=layers, seed=seed)
    warm_start(small, words, train, steps=warm_steps, batch=warm_batch, lr=warm_lr, seed=seed)
    small.save_pretrained(out / "base")
    words.save_pretrained(out / "base")
    write_rows(out / "train.jsonl", train)
    write_rows(out / "held_out.jsonl", held)
    places = {"model.path": "base", "data.train": "train.jsonl", "data.eval": "held_out.jsonl"}
    return {name: str(out / place) for name, place in places.items()}


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
