"""Cut the response out of a decoded sequence that begins with the prompt, including special tokens.

Some trainers (OpenRLHF) pass prompt and response as one text. A prompt that was decoded in another way than the query
is not covered: it is refused rather than scored.
"""

from __future__ import annotations

from collections.abc import Sequence

SPECIAL_TOKENS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<end_of_turn>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "</s>",
    "<eos>",
    "<pad>",
    "<|pad|>",
    "<|finetune_right_pad_id|>",
    "[PAD]",
)
"""Tokens that end or pad a sequence in common vocabularies."""

TOKEN_CHARS, OVERLAP_CHARS = 64, 8
"""Characters that may precede a prompt, and the length that a cut must leave to identify the prompt."""
LONGEST_CUT_CHARS = 1 << 20
"""A prompt longer than this (characters) is not searched for if its start was cut off."""


def response_of(query: str, prompt: str) -> str:
    """Return the query after the prompt, or after the end of a prompt whose start was cut off. Linear time.

    Raises `ValueError` if the query does not start with the prompt: scoring both would find answers in the prompt.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    start = query.find(prompt, 0, len(prompt) + TOKEN_CHARS)  # a token may precede it, such as <s>
    if start >= 0:
        return query[start + len(prompt) :]
    if len(prompt) > LONGEST_CUT_CHARS:  # the search below takes a step per character
        raise ValueError("the query does not start with the prompt")
    kept = overlap(prompt, query.lstrip("\ufffd"))
    if kept < min(OVERLAP_CHARS, len(prompt)):
        raise ValueError("the query does not start with the prompt")
    return query.lstrip("\ufffd")[kept:]


def overlap(left: str, right: str) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right` (Knuth, Morris, Pratt 1977)."""
    right = right[: len(left)]
    borders = [0] * len(right)
    for index in range(1, len(right)):
        borders[index] = _extended(right, borders, borders[index - 1], right[index])
    matched = 0
    for char in left[-len(right) :] if right else "":
        matched = borders[matched - 1] if matched == len(right) else matched
        matched = _extended(right, borders, matched, char)
    return matched


def _extended(text: str, borders: list[int], matched: int, char: str) -> int:
    while matched and text[matched] != char:
        matched = borders[matched - 1]
    return matched + 1 if text[matched] == char else 0


def without_end(text: str, tokens: Sequence[str]) -> str:
    """Return the text without special tokens at its end and the white space around them."""
    end = len(text)
    while True:
        seen = end
        while seen and text[seen - 1].isspace():
            seen -= 1
        token = next((token for token in tokens if token and text.endswith(token, 0, seen)), None)
        if token is None:
            return text[:end]
        end = seen - len(token)
