"""One step's update: advantages, weights, micro-batches, gradients, AdamW.

A sample whose advantage is 0 and that carries no KL does not enter the training forward: without dropout it cannot
move a parameter. It stays in the denominators that the papers give it (`denominator = all`). If a batch gets a single
update, ratios are 1 by construction. With several updates, a correction for the generator, or KL in the reward, old
log-probs are computed first, once, and with beta > 0 also those of the reference model; both for every sample, whether
it trains or not. LoRA's dropout is on in these passes too: ratios then contain its noise, and leaving samples out
changes the dropout masks of the others. An update whose gradient is not finite is skipped and counted; it is in no
other figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.advantages import Advantages, group_advantages
from assay.trainer_adapter.grpo.objective.batch import Batch, Entry, micro_batches
from assay.trainer_adapter.grpo.objective.correction import Ess, rollout_correction
from assay.trainer_adapter.grpo.objective.losses import LossInputs, kl_in_reward
from assay.trainer_adapter.grpo.objective.segments import offsets_of, per_token, segment_sum
from assay.trainer_adapter.grpo.objective.weights import Totals, token_weights, totals
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.outcome import rewards_of
from assay.trainer_adapter.grpo.rollout.samples import Group
from assay.trainer_adapter.grpo.rollout.sampling import key
from assay.trainer_adapter.grpo.run.config import Optimizer, Run
from assay.trainer_adapter.grpo.run.ranks import Ranks

SUMS = (
    "loss", "tokens_seen", "entropy", "kl", "clipped", "kl_rollout", "rollout_tokens",
    "ess_n", "ess_w", "ess_w2", "ess_t", "ess_t2", "seq_n", "seq_w", "seq_w2", "seq_t", "seq_t2", "missing",
)  # fmt: skip


@dataclass
class Updated:
    """Figures of an update over all ranks; `sums` has the names in `SUMS`."""

    grad_norms: list[float] = field(default_factory=list)
    skipped: int = 0
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SUMS, 0.0))
    sequences: int = 0
    sequences_computed: int = 0
    tokens: int = 0
    tokens_computed: int = 0


class Learner:
    """Updates the policy from batches of groups."""

    def __init__(self, policy: Policy, run: Run, ranks: Ranks) -> None:
        self.policy, self._run, self._ranks = policy, run, ranks
        self.preset = run.algorithm.preset()
        settings = run.optimizer
        self.optimizer = torch.optim.AdamW(
            policy.parameters(),
            lr=settings.lr,
            betas=settings.betas,
            eps=settings.eps,
            weight_decay=settings.weight_decay,
        )
        self._reference = policy.reference(run.model) if run.algorithm.beta > 0 else None
        self._updates = settings.minibatches * settings.epochs

    def update(self, groups: Sequence[Group], *, step: int) -> Updated:
        """Update the policy from the groups of step `step` (from 0)."""
        torch.manual_seed(key(self._run.seed, step))
        self.policy.model.train()
        done = Updated()
        entries = [[Entry(sample, group.draw.prompt.ids) for sample in group.samples] for group in groups]
        self._recompute([entry for group in entries for entry in group])
        self._assign(groups, entries, self._advantages(groups, entries))
        rate = learning_rate(self._run.optimizer, step, self._run.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        parts = self._minibatches(groups, entries)
        for epoch in range(self._run.optimizer.epochs):
            for part in parts:
                self._minibatch_step(part, done, first=epoch == 0)
        self._reduce(done)
        return done

    # --- before the update ---------------------------------------------------------------------

    def _recompute(self, entries: list[Entry]) -> None:
        """Set the log-probs of the old policy and of the reference model where the first update needs them."""
        in_reward = self._reference is not None and self.preset.kl_in == "reward"
        if self._updates > 1 or self._run.algorithm.correction != "none" or in_reward:
            for entry, logps in self._logps(entries, self.policy):
                entry.old_logps = logps
        if self._reference is not None:
            for entry, logps in self._logps(entries, self._reference):
                entry.ref_logps = logps

    def _logps(self, entries: list[Entry], policy: Policy) -> Iterator[tuple[Entry, Tensor]]:
        for batch in self._batches(entries):
            logps = policy.logps(batch, temperature=self._run.rollout.temperature)
            yield from zip(batch.entries, logps.split([one.trained for one in batch.entries]), strict=True)

    def _batches(self, entries: Sequence[Entry]) -> Any:
        pad = self.policy.tokenizer.pad_token_id or 0
        return micro_batches(
            entries, micro_tokens=self._run.optimizer.micro_tokens, pad_id=pad, device=self.policy.device
        )

    def _advantages(self, groups: Sequence[Group], entries: list[list[Entry]]) -> Advantages:
        samples = [sample for group in groups for sample in group.samples]
        rewards, scores = rewards_of(samples)
        settings = self._run.algorithm
        if self.preset.kl_in == "reward" and samples and self._reference is not None:
            rewards = self._with_kl([entry for group in entries for entry in group], rewards)
        return group_advantages(
            rewards,
            offsets_of(torch.tensor([len(group.samples) for group in groups])),
            kind=self.preset.advantage,
            scores=scores if settings.gate == "score" else None,
            eps=settings.eps,
            spread=settings.spread,
            ddof=settings.ddof,
            reduce=self._ranks.sum,
        )

    def _with_kl(self, entries: list[Entry], rewards: Tensor) -> Tensor:
        """Return the rewards less beta times the KL of each sample."""
        offsets = offsets_of(torch.tensor([entry.trained for entry in entries]))
        old = torch.cat([entry.old_logps.cpu() for entry in entries if entry.old_logps is not None])
        ref = torch.cat([entry.ref_logps.cpu() for entry in entries if entry.ref_logps is not None])
        return kl_in_reward(rewards, old, ref, offsets, beta=self._run.algorithm.beta, kl=self.preset.loss.kl)

    def _assign(self, groups: Sequence[Group], entries: list[list[Entry]], advantages: Advantages) -> None:
        """Set the advantage of each entry and its parts in the loss."""
        values = iter(advantages.values.tolist())
        for members, live in zip(entries, advantages.live.tolist(), strict=True):
            for entry in members:
                self.set_parts(entry, next(values), live)

    def set_parts(self, entry: Entry, advantage: float, live: bool) -> None:
        """Set the advantage of an entry and its parts in the loss; `live`: the scores of its group differ."""
        settings, sample = self._run.algorithm, entry.sample
        graded = sample.grade is not None and sample.grade.reward is not None
        usable = graded and entry.trained > 0 and not (settings.mask_truncated and sample.truncated)
        entry.advantage = advantage
        entry.keep = usable and advantage != 0.0
        entry.kl = usable and self._in_loss > 0 and (live or settings.kl_on_dead_groups)
        entry.counted = usable and (live or settings.denominator == "all")

    def _minibatches(self, groups: Sequence[Group], entries: list[list[Entry]]) -> list[list[Entry]]:
        """Return the entries of each minibatch: groups by their draw numbers, so that all ranks split alike."""
        every = sorted(self._ranks.gather([group.draw.number for group in groups]))
        count = self._run.optimizer.minibatches
        part_of = {draw: place * count // len(every) for place, draw in enumerate(every)}
        parts: list[list[Entry]] = [[] for _ in range(count)]
        for group, members in zip(groups, entries, strict=True):
            parts[part_of[group.draw.number]] += members
        return parts

    @property
    def _in_loss(self) -> float:
        """Coefficient of the KL term in the loss."""
        return self._run.algorithm.beta if self.preset.kl_in == "loss" else 0.0

    # --- the update ----------------------------------------------------------------------------

    def _minibatch_step(self, entries: list[Entry], done: Updated, *, first: bool) -> None:
        """Make one optimizer step."""
        whole = self._totals(entries)
        active = [entry for entry in entries if entry.keep or entry.kl]
        if first:
            done.sequences += len(entries)
            done.tokens += sum(entry.width for entry in entries)
            done.sequences_computed += len(active)
            done.tokens_computed += sum(entry.width for entry in active)
        if self._ranks.sum(torch.tensor(float(len(active)))) == 0:
            return
        self.optimizer.zero_grad(set_to_none=True)
        sums = dict.fromkeys(SUMS, 0.0)
        for batch in self._batches(active):
            inputs, missing = self._inputs(batch, whole)
            loss, stats = self.policy.loss(batch, inputs, self.preset.loss, temperature=self._run.rollout.temperature)
            loss.backward()
            self._add_stats(sums, batch, loss, stats, missing)
        if self._step(done):
            done.sums = {name: value + sums[name] for name, value in done.sums.items()}

    def _totals(self, entries: list[Entry]) -> Totals:
        lengths = torch.tensor([entry.trained for entry in entries], dtype=torch.int64)
        counted = torch.tensor([entry.counted for entry in entries], dtype=torch.bool)
        return totals(offsets_of(lengths), counted, reduce=self._ranks.sum)

    def _inputs(self, batch: Batch, whole: Totals) -> tuple[LossInputs, int]:
        """Return the inputs of the loss of a micro-batch, and how many tokens have no log-prob of the generator."""
        settings, old = self._run.algorithm, batch.old_logps
        ratio, missing = None, 0
        if settings.correction != "none" and old is not None:
            corrected = rollout_correction(
                old,
                batch.rollout,
                batch.offsets,
                mode=settings.correction,
                low=settings.correction_low,
                high=settings.correction_high,
            )
            ratio, missing = corrected.ratio, corrected.missing
        weights = token_weights(
            batch.offsets,
            whole,
            normaliser=self.preset.normaliser,
            keep=batch.keep,
            max_tokens=self._run.rollout.max_tokens,
            beta=self._in_loss,
            ratio=ratio,
            kl_keep=batch.kl,
        )
        inputs = LossInputs(
            batch.offsets,
            old if self._updates > 1 else None,  # one update: the ratio is 1 by construction
            per_token(batch.advantages, batch.offsets),
            weights.w_pg,
            weights.w_kl,
            batch.ref_logps if self._in_loss > 0 else None,
        )
        return inputs, missing

    def _add_stats(self, sums: dict[str, float], batch: Batch, loss: Tensor, stats: Any, missing: int) -> None:
        """Add the sums of this micro-batch, over the tokens that were computed."""
        seen = stats.seen
        known = seen & ~batch.rollout.isnan()
        change = torch.where(known, (stats.logp - batch.rollout).clamp(-20, 20), 0.0).double()
        token = Ess.of(change[known].exp())
        whole = segment_sum(known.double(), batch.offsets) > 0
        sequence = Ess.of(segment_sum(change, batch.offsets)[whole].clamp(-20, 20).exp())
        cap = self._run.algorithm.correction_high
        cut = Ess.of(change[known].exp().clamp(max=cap))
        sequence_cut = Ess.of(segment_sum(change, batch.offsets)[whole].clamp(-20, 20).exp().clamp(max=cap))
        found = {
            "loss": loss, "tokens_seen": seen.sum(), "entropy": stats.entropy.sum(), "kl": stats.kl.sum(),
            "clipped": (stats.clipped & seen).sum(), "missing": missing, "rollout_tokens": known.sum(),
            "kl_rollout": (change.exp() - 1 - change)[known].sum(),
            "ess_n": token.count, "ess_w": token.total, "ess_w2": token.squares,
            "ess_t": cut.total, "ess_t2": cut.squares,
            "seq_n": sequence.count, "seq_w": sequence.total, "seq_w2": sequence.squares, "seq_t": sequence_cut.total,
            "seq_t2": sequence_cut.squares,
        }  # fmt: skip
        for name, value in found.items():
            sums[name] += float(value.detach() if isinstance(value, Tensor) else value)

    def _step(self, done: Updated) -> bool:
        """Make the optimizer step unless the gradient (the same on all ranks) is not finite; return whether it was."""
        parameters = self.policy.parameters()
        self._ranks.sum_gradients(parameters)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, self._run.optimizer.max_grad_norm))
        moves = math.isfinite(norm)
        if moves:
            self.optimizer.step()
            done.grad_norms.append(norm)
        else:
            done.skipped += 1
        self.optimizer.zero_grad(set_to_none=True)
        return moves

    def _reduce(self, done: Updated) -> None:
        """Sum the counts over all ranks."""
        counts = ("sequences", "sequences_computed", "tokens", "tokens_computed")
        local = [*done.sums.values(), *(float(getattr(done, name)) for name in counts)]
        whole = self._ranks.sum(torch.tensor(local, dtype=torch.float64)).tolist()
        done.sums = dict(zip(done.sums, whole, strict=False))
        for name, value in zip(counts, whole[len(done.sums) :], strict=True):
            setattr(done, name, int(value))


def learning_rate(settings: Optimizer, step: int, steps: int) -> float:
    """Return the learning rate of step `step`, counted from 0, of `steps`."""
    if step < settings.warmup_steps:
        return settings.lr * (step + 1) / settings.warmup_steps
    left = max(steps - settings.warmup_steps, 1)
    share = (step - settings.warmup_steps) / left
    schedules: dict[str, Callable[[float], float]] = {
        "constant": lambda _: 1.0,
        "linear": lambda x: 1.0 - x,
        "cosine": lambda x: 0.5 * (1.0 + math.cos(math.pi * x)),
    }
    return settings.lr * schedules[settings.schedule](share)
