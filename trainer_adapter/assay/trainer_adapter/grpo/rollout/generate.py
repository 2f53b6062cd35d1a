"""The local generator: sampling with a KV cache, many sequences at once, in this process.

Prompts are padded on the left and run once each; the cache is then repeated for the samples of a group. Finished
sequences leave the batch when half of it is done, and so do the stragglers of a group that has enough verdicts. A
sequence whose thinking reaches its budget is continued with the text that ends thinking; these tokens do not train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import choose, key, uniforms
from assay.trainer_adapter.grpo.run.config import Thinking

Deliver = Callable[[Sample], None]
Enough = Callable[[int], bool]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling settings of a rollout. `stream` separates the random numbers of training from those of evaluation."""

    samples: int
    max_tokens: int
    temperature: float
    seed: int
    stream: int = 0
    thinking: Thinking | None = None


@dataclass
class _Sequence:
    """A sequence being generated."""

    draw: int
    index: int
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)
    thinking: bool = False
    done: bool = False


class LocalGenerator:
    """Samples from the policy itself."""

    def __init__(self, policy: Policy, *, batch: int) -> None:
        self._policy, self._batch = policy, batch
        self.tokens = 0
        """Tokens sampled so far."""

    def sync(self, version: int) -> None:
        """Do nothing: the weights are the trainer's own."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    @torch.no_grad()
    def run(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        """Sample `how.samples` completions of every draw, and deliver each when it is finished."""
        model = self._policy.model
        was_training = model.training
        model.eval()
        try:
            step = max(1, self._batch // how.samples)
            with self._policy.precision():  # around all of it: autocast then casts each weight once
                for start in range(0, len(draws), step):
                    self._chunk(draws[start : start + step], how, deliver, enough)
        finally:
            model.train(was_training)

    def _chunk(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        ids, mask = self._prompts(draws)
        logits, cache = self._policy.next_logits(ids, mask, positions(mask), None)
        if how.samples > 1:
            cache.batch_repeat_interleave(how.samples)
            logits, mask = (one.repeat_interleave(how.samples, 0) for one in (logits, mask))
        sequences = [
            _Sequence(draw.number, index, thinking=how.thinking is not None and how.thinking.prefilled)
            for draw in draws
            for index in range(how.samples)
        ]
        _Decoding(self, how, deliver, enough, sequences, cache, mask).run(logits)

    def _prompts(self, draws: Sequence[Draw]) -> tuple[Tensor, Tensor]:
        width = max(len(draw.prompt.ids) for draw in draws)
        pad = self._policy.tokenizer.pad_token_id or 0
        ids = [[pad] * (width - len(draw.prompt.ids)) + list(draw.prompt.ids) for draw in draws]
        mask = [[0] * (width - len(draw.prompt.ids)) + [1] * len(draw.prompt.ids) for draw in draws]
        return torch.tensor(ids, device=self._policy.device), torch.tensor(mask, device=self._policy.device)


class _Decoding:
    """One batch being decoded, its sequences finished or not."""

    def __init__(
        self, owner: LocalGenerator, how: Sampling, deliver: Deliver, enough: Enough,
        sequences: list[_Sequence], cache: Any, mask: Tensor,
    ) -> None:  # fmt: skip
        self._owner, self._policy, self._how = owner, owner._policy, how
        self._deliver, self._enough = deliver, enough
        self._sequences, self._cache, self._mask = sequences, cache, mask
        self._ends = self._policy.end_ids
        self._keys = torch.tensor([key(how.seed, how.stream, sequence.draw, sequence.index) for sequence in sequences])
        self._marks = _thinking_ids(how.thinking, self._policy.tokenizer)

    def run(self, logits: Tensor) -> None:
        """Decode until every sequence has ended."""
        for step in range(self._how.max_tokens):
            self._take(logits, step)
            done = sum(sequence.done for sequence in self._sequences)
            if done == len(self._sequences):
                return
            if done * 2 >= len(self._sequences):
                self._shrink()
            logits = self._step()

    def _take(self, logits: Tensor, step: int) -> None:
        """Append one token to every running sequence; deliver the finished ones, drop those no longer needed."""
        chosen = choose(logits, uniforms(self._keys, step), temperature=self._how.temperature)
        tokens, logps = (one.tolist() for one in chosen)
        for sequence, token, logp in zip(self._sequences, tokens, logps, strict=True):
            if sequence.done:
                continue
            self._grow(sequence, token, logp)
            ended = sequence.mask[-1] and sequence.ids[-1] in self._ends
            if ended or step == self._how.max_tokens - 1:
                sequence.done = True
                self._deliver(self._sample(sequence, truncated=not ended))
        running = {sequence.draw for sequence in self._sequences if not sequence.done}
        over = {draw for draw in running if self._enough(draw)}
        for sequence in self._sequences:
            sequence.done = sequence.done or sequence.draw in over

    def _grow(self, sequence: _Sequence, token: int, logp: float) -> None:
        self._owner.tokens += 1
        if sequence.forced:
            sequence.ids.append(sequence.forced.pop(0))
            sequence.mask.append(False)
            sequence.logps.append(float("nan"))
            return
        sequence.ids.append(token)
        sequence.mask.append(True)
        sequence.logps.append(logp)
        if self._how.thinking is not None:
            self._think(sequence, self._how.thinking.budget)

    def _think(self, sequence: _Sequence, budget: int) -> None:
        """Track whether a sequence is thinking, by its last tokens, and force the end past the budget."""
        start, end, close = self._marks
        if not sequence.thinking:
            sequence.thinking = sequence.ids == start
        elif sequence.ids[-len(end) :] == end:
            sequence.thinking = False
        if sequence.thinking and len(sequence.ids) >= budget:
            sequence.thinking = False
            sequence.forced = list(close)

    def _shrink(self) -> None:
        places = [place for place, sequence in enumerate(self._sequences) if not sequence.done]
        index = torch.tensor(places, device=self._mask.device)
        self._cache.batch_select_indices(index)
        self._mask, self._keys = self._mask[index], self._keys[torch.tensor(places)]
        self._sequences = [self._sequences[place] for place in places]

    def _step(self) -> Tensor:
        tokens = torch.tensor([[sequence.ids[-1]] for sequence in self._sequences], device=self._mask.device)
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        return self._policy.next_logits(tokens, self._mask, positions(self._mask)[:, -1:], self._cache)[0]

    def _sample(self, sequence: _Sequence, *, truncated: bool) -> Sample:
        text = self._policy.tokenizer.decode(sequence.ids, skip_special_tokens=True)
        return Sample(sequence.draw, sequence.index, sequence.ids, sequence.mask, sequence.logps, text, truncated)


def positions(mask: Tensor) -> Tensor:
    """Return the positions of left-padded sequences."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def _thinking_ids(thinking: Thinking | None, tokenizer: Any) -> tuple[list[int], list[int], list[int]]:
    """Return the tokens that start thinking, that end it, and that are forced past the budget."""
    if thinking is None:
        return [], [], []
    texts = (thinking.start, thinking.end, thinking.close)
    start, end, close = (list(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts)
    return start, end, close
