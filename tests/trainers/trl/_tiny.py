"""A model small enough to learn in seconds on a CPU, made and warmed up here: nothing is fetched.

Characters are tokens. Warming up (supervised, right and wrong answers mixed) leaves it right about a
third of the time, so that reinforcement has something to find.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl.chat_template_utils import qwen3_chat_template

SPECIAL = ("<pad>", "<unk>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>")
PLAIN_CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
END = "<|im_end|>"
WORD = r"[A-Za-z]+|[\s\S]"


def tokenizer(*, tools: bool = False, text: str = "") -> PreTrainedTokenizerFast:
    """One token a character, or a word of `text`; with `tools` Qwen3's chat template, else contents joined."""
    known = sorted(set(re.findall(WORD, text)) - set(string.printable))
    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *string.printable, *known])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(WORD if text else r"[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    words.add_special_tokens([token for token in SPECIAL if "tool" not in token and "think" not in token])
    words.add_tokens([token for token in SPECIAL if "tool" in token or "think" in token])
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token=END, unk_token="<unk>", padding_side="left"
    )
    made.chat_template = qwen3_chat_template if tools else PLAIN_CHAT
    return made


def model(vocabulary: PreTrainedTokenizerFast, *, seed: int = 0) -> Qwen2ForCausalLM:
    """About 0.1 M parameters."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        eos_token_id=vocabulary.eos_token_id,
        pad_token_id=vocabulary.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    return Qwen2ForCausalLM(config)


def warm_up(
    of: Any, vocabulary: PreTrainedTokenizerFast, texts: Sequence[tuple[str, str]], *, steps: int, batch: int = 64
) -> None:
    """Teach it `texts` (prompt, answer), sampled evenly; only answers are learnt."""
    chosen, rows = random.Random(0), [_row(vocabulary, *text) for text in texts]
    optimizer = torch.optim.AdamW(of.parameters(), lr=3e-3)
    for _ in range(steps):
        drawn = chosen.choices(rows, k=batch)
        longest = max(len(ids) for ids, _ in drawn)
        ids = torch.tensor([[vocabulary.pad_token_id] * (longest - len(row)) + row for row, _ in drawn])
        labels = torch.tensor([[-100] * (longest - len(row)) + row for _, row in drawn])
        loss = of(input_ids=ids, attention_mask=(ids != vocabulary.pad_token_id).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _row(vocabulary: PreTrainedTokenizerFast, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    asked, said = vocabulary.encode(prompt), vocabulary.encode(answer)
    return asked + said, [-100] * len(asked) + said


SUMS = [(f"{a}+{b}=", str(a + b)) for a in range(5) for b in range(5)]


def adder(vocabulary: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """Adds two digits, right about a third of the time."""
    drawn = random.Random(1)
    wrong = [(asked, f"{drawn.randrange(9)}{END}") for asked, _ in SUMS for _ in range(4)]
    right = [(asked, f"{said}{END}") for asked, said in SUMS for _ in range(4)]
    made = model(vocabulary)
    warm_up(made, vocabulary, wrong + right, steps=200)
    return made
