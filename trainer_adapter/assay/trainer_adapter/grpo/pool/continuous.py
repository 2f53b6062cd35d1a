"""Continuous generation: a slot takes the next sequence as soon as its own ends, and weights may change in between.

`step` samples one token of every running sequence. A token's random number depends on its draw, index and place alone,
so a completion is the same, up to the rounding of a batch's products, whatever else runs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.base import REFILL_SHARE
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.rollout.cache import cut, join, joinable
from assay.trainer_adapter.grpo.rollout.generate import positions
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import choose, key, uniforms
from assay.trainer_adapter.grpo.rollout.sequence import Ends, Growing, Sampling, sequences_of


class ContinuousGenerator:
    """Samples groups from a policy of its own, `slots` sequences at once."""

    def __init__(self, policy: Policy, how: Sampling, *, slots: int) -> None:
        self.policy, self._how, self._slots = policy, how, slots
        self.version = 0
        self.timings = Timings()
        self._ends = Ends.of(how, policy.tokenizer, policy.end_ids)
        self._prompts: dict[int, tuple[int, ...]] = {}
        self._queue: deque[Growing] = deque()
        self._active: list[Growing] = []
        self._cache: Any = None
        self._mask = torch.zeros(0, 0, dtype=torch.int64)
        policy.model.eval()

    @property
    def busy(self) -> bool:
        """Whether a sequence is running or waits for a slot."""
        return bool(self._queue) or any(not one.done for one in self._active)

    def add(self, number: int, prompt: Sequence[int]) -> None:
        """Queue the samples of a draw."""
        self._prompts[number] = tuple(prompt)
        self._queue.extend(sequences_of(number, self._how))

    def cancel(self, number: int) -> None:
        """Stop the samples of a draw."""
        self._prompts.pop(number, None)
        self._queue = deque(one for one in self._queue if one.draw != number)
        for sequence in self._active:
            sequence.done = sequence.done or sequence.draw == number

    def load(self, folder: Path, version: int, *, recompute: bool) -> None:
        """Load the weights of a version, between two tokens. `recompute`: build the cache of the prefixes anew."""
        start = time.monotonic()
        self.policy.restore(folder)
        self.version = version
        self.timings.load.add(1.0, time.monotonic() - start)
        if recompute and self._active:
            self._queue.extendleft(reversed([one for one in self._active if not one.done]))
            self._active, self._cache = [], None

    @torch.no_grad()
    def step(self) -> list[Sample]:
        """Sample a token of every sequence; return the samples that are finished."""
        with self.policy.precision():
            start = time.monotonic()
            self._remove_done()
            running = len(self._active)
            finished = self._decode()
            if running:
                self.timings.decode.add(running, time.monotonic() - start)
            return finished + self._refill()

    def _remove_done(self) -> None:
        places = [place for place, sequence in enumerate(self._active) if not sequence.done]
        if len(places) == len(self._active):
            return
        self._active = [self._active[place] for place in places]
        if not places:
            self._cache = None
            return
        index = torch.tensor(places, device=self._mask.device)
        self._cache.batch_select_indices(index)
        self._mask = self._mask[index]
        if joinable(self._cache):
            self._mask = cut(self._cache, self._mask)

    def _decode(self) -> list[Sample]:
        if not self._active:
            return []
        tokens = torch.tensor([[sequence.ids[-1]] for sequence in self._active], device=self._mask.device)
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        logits, self._cache = self.policy.next_logits(
            tokens, self._mask, positions(self._mask)[:, -1:], self._cache
        )  # fmt: skip
        return self._grow(self._active, logits)

    def _refill(self) -> list[Sample]:
        """Let queued sequences take free slots: their prefixes run through the model, which gives their next token."""
        free = self._slots - sum(not sequence.done for sequence in self._active)
        wanted = min(free, len(self._queue))
        if not wanted or (self._active and wanted * REFILL_SHARE < self._slots and wanted < len(self._queue)):
            return []
        if self._active and not joinable(self._cache):
            return []
        start = time.monotonic()
        taken = [self._queue.popleft() for _ in range(wanted)]
        logits, cache, mask = self._prefill(taken)
        if self._active:
            self._cache, self._mask = join(self._cache, self._mask, cache, mask)
        else:
            self._cache, self._mask = cache, mask
        self._active += taken
        finished = self._grow(taken, logits)
        self.timings.prefill.add(len({one.draw for one in taken}), time.monotonic() - start)
        return finished

    def _prefill(self, sequences: Sequence[Growing]) -> tuple[Tensor, Any, Tensor]:
        """Run the prefixes of sequences through the model, equal ones once; return logits, cache and mask."""
        whole = [(*self._prompts[one.draw], *one.ids) for one in sequences]
        distinct = list(dict.fromkeys(whole))
        width, pad = max(map(len, distinct)), self.policy.tokenizer.pad_token_id or 0
        ids = torch.tensor([[pad] * (width - len(one)) + list(one) for one in distinct], device=self.policy.device)
        mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in distinct], device=self.policy.device)
        logits, cache = self.policy.next_logits(ids, mask, positions(mask), None)
        place = {one: at for at, one in enumerate(distinct)}
        index = torch.tensor([place[one] for one in whole], device=self.policy.device)
        cache.batch_select_indices(index)
        return logits[index], cache, mask[index]

    def _grow(self, sequences: Sequence[Growing], logits: Tensor) -> list[Sample]:
        how = self._how
        keys = torch.tensor([key(how.seed, how.stream, one.draw, one.index) for one in sequences])
        random = uniforms(keys, [len(one.ids) for one in sequences])
        chosen = choose(logits, random, temperature=how.temperature)
        tokens, logps = (one.tolist() for one in chosen)
        finished: list[Sample] = []
        for sequence, token, logp in zip(sequences, tokens, logps, strict=True):
            if sequence.done:
                continue
            sequence.grow(token, logp, how, self._ends, version=self.version)
            if sequence.done:
                finished.append(sequence.sample(self.policy.tokenizer))
        return finished
