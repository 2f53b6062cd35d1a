"""A sequence that is being generated: its tokens so far, the bound on its thinking, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.run.config import Thinking


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling settings of a rollout. `stream` separates the random numbers of training from those of evaluation."""

    samples: int
    max_tokens: int
    temperature: float
    seed: int
    stream: int = 0
    thinking: Thinking | None = None


@dataclass(frozen=True)
class Ends:
    """What ends a completion, and its thinking: token ids. `marks`: of the start of thinking, its end, and the text
    that is forced past the budget.
    """

    tokens: frozenset[int]
    marks: tuple[list[int], list[int], list[int]]

    @classmethod
    def of(cls, how: Sampling, tokenizer: Any, end_ids: frozenset[int]) -> Ends:
        """Return the ends of a tokenizer."""
        thinking = how.thinking
        texts = () if thinking is None else (thinking.start, thinking.end, thinking.close)
        marks = [list(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts] or [[], [], []]
        return cls(end_ids, (marks[0], marks[1], marks[2]))


@dataclass
class Growing:
    """Sample `index` of a draw while it is generated. `done`: it takes no further token."""

    draw: int
    index: int
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)
    thinking: bool = False
    done: bool = False
    truncated: bool = True

    def grow(self, token: int, logp: float, how: Sampling, ends: Ends, *, version: int = 0) -> None:
        """Append the token that was sampled under `version`, or the next forced one in its place."""
        chosen = not self.forced
        self.ids.append(token if chosen else self.forced.pop(0))
        self.mask.append(chosen)
        self.logps.append(logp if chosen else float("nan"))
        self._count(version)
        if chosen and how.thinking is not None:
            self._think(how.thinking.budget, ends)
        self.truncated = not (self.mask[-1] and self.ids[-1] in ends.tokens)
        self.done = not self.truncated or len(self.ids) >= how.max_tokens

    def _count(self, version: int) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None and last[0] == version:
            self.spans[-1] = (version, last[1] + 1)
        else:
            self.spans.append((version, 1))

    def _think(self, budget: int, ends: Ends) -> None:
        """Track whether the sequence is thinking, by its last tokens, and force the end past the budget."""
        start, end, close = ends.marks
        if not self.thinking:
            self.thinking = self.ids == start
        elif self.ids[-len(end) :] == end:
            self.thinking = False
        if self.thinking and len(self.ids) >= budget:
            self.thinking = False
            self.forced = list(close)

    def sample(self, tokenizer: Any) -> Sample:
        """Return the finished sample."""
        text = tokenizer.decode(self.ids, skip_special_tokens=True)
        return Sample(
            self.draw, self.index, self.ids, self.mask, self.logps, text, self.truncated, spans=self.spans
        )  # fmt: skip


def sequences_of(draw: int, how: Sampling) -> list[Growing]:
    """Return the samples of a draw before their first token."""
    prefilled = how.thinking is not None and how.thinking.prefilled
    return [Growing(draw, index, thinking=prefilled) for index in range(how.samples)]
