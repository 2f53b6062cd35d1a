"""Length and repetition terms: shaping rewards that are not correctness, counted in the caller's tokens.

Sources: `soft_overlong` is DAPO eq. 13 (arXiv 2503.14476); `cosine_length` arXiv 2502.03373, clamped beyond `max`;
`repetition` is the penalty of that paper, on token ids and therefore independent of the script.
"""

from __future__ import annotations

import math

from assay.contract.references.format import CosineLength, Repetition, SoftOverlong
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidItem


def soft_overlong(term: SoftOverlong, candidate: Candidate) -> float:
    """Return 0 up to max - cache tokens, then linearly down to -1 at max. Raises `InvalidItem`."""
    over = _tokens(candidate) - (term.max - term.cache)
    return 0.0 if over <= 0 else max(-1.0, -over / term.cache)


def cosine_length(term: CosineLength, candidate: Candidate, *, correct: bool) -> float:
    """Return half a cosine from the value at 0 tokens to the value at `max` tokens. Raises `InvalidItem`."""
    at_max, at_0 = term.correct if correct else reversed(term.wrong)
    progress = min(_tokens(candidate), term.max) / term.max
    return at_max + (at_0 - at_max) * (1 + math.cos(math.pi * progress)) / 2


def repetition(term: Repetition, candidate: Candidate) -> float:
    """Return (1 - distinct / all n-grams) * max_penalty. Raises `InvalidItem`."""
    ids = candidate.completion_ids
    if ids is None:
        raise InvalidItem("required by `repetition`", field="completion_ids")
    count = len(ids) - term.ngram + 1
    if count <= 0:
        return 0.0
    distinct = len(set(zip(*(ids[start : start + count] for start in range(term.ngram)), strict=True)))
    return (1 - distinct / count) * term.max_penalty


def _tokens(candidate: Candidate) -> int:
    if candidate.completion_tokens is not None:
        return candidate.completion_tokens
    if candidate.completion_ids is not None:
        return len(candidate.completion_ids)
    raise InvalidItem("required by a length term", field="completion_tokens")
