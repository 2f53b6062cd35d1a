"""The local generator: sampling with a KV cache, many sequences at once, in this process.

Prompts are padded on the left and run once each; the cache is then repeated for the samples of a group. Finished
sequences leave the batch when half of it is done, and so do the stragglers of a group that has enough verdicts. A
sequence whose thinking reaches its budget is continued with the text that ends thinking; these tokens do not train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import choose, key, uniforms
from assay.trainer_adapter.grpo.rollout.sequence import Ends, Growing, Sampling, sequences_of

Deliver = Callable[[Sample], None]
Enough = Callable[[int], bool]


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
        sequences = [sequence for draw in draws for sequence in sequences_of(draw.number, how)]
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
        sequences: list[Growing], cache: Any, mask: Tensor,
    ) -> None:  # fmt: skip
        self._owner, self._policy, self._how = owner, owner._policy, how
        self._deliver, self._enough = deliver, enough
        self._sequences, self._cache, self._mask = sequences, cache, mask
        self._ends = Ends.of(how, self._policy.tokenizer, self._policy.end_ids)
        self._keys = torch.tensor([key(how.seed, how.stream, sequence.draw, sequence.index) for sequence in sequences])

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
            self._owner.tokens += 1
            sequence.grow(token, logp, self._how, self._ends)
            if sequence.done:
                self._deliver(sequence.sample(self._policy.tokenizer))
        running = {sequence.draw for sequence in self._sequences if not sequence.done}
        over = {draw for draw in running if self._enough(draw)}
        for sequence in self._sequences:
            sequence.done = sequence.done or sequence.draw in over

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


def positions(mask: Tensor) -> Tensor:
    """Return the positions of left-padded sequences."""
    return (mask.cumsum(-1) - 1).clamp(min=0)
