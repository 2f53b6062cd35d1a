"""The parts of a run from its configuration: generator, pool, evaluator."""

from __future__ import annotations

from pathlib import Path

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.base import Pool
from assay.trainer_adapter.grpo.pool.inline import Generator, InlinePool
from assay.trainer_adapter.grpo.rollout.data import load_prompts
from assay.trainer_adapter.grpo.rollout.generate import LocalGenerator
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.evaluation import Evaluator
from assay.trainer_adapter.grpo.run.ranks import Ranks


def sampling_of(run: Run) -> Sampling:
    """Return how training samples are drawn."""
    how = run.rollout
    return Sampling(
        samples=how.group + how.extra, max_tokens=how.max_tokens, temperature=how.temperature, seed=run.seed,
        thinking=how.thinking,
    )  # fmt: skip


def make_generator(run: Run, policy: Policy, out: Path, ranks: Ranks) -> Generator:
    """Return the generator that samples in the trainer's process: itself, or a server."""
    if run.generator.kind == "local":
        return LocalGenerator(policy, batch=run.generator.batch)
    from assay.trainer_adapter.grpo.rollout.servers import ServerGenerator

    return ServerGenerator(run.generator, policy, out / "generator", writes=ranks.first)


def make_pool(run: Run, policy: Policy, out: Path, ranks: Ranks, generator: Generator) -> Pool:
    """Return the pool of the configuration. Raises `ConfigurationError`."""
    if run.regime.kind != "sync" and ranks.size > 1:
        raise ConfigurationError(f"regime.kind = {run.regime.kind} runs with one trainer process, not {ranks.size}")
    if run.generator.kind == "local" and run.regime.workers:
        from assay.trainer_adapter.grpo.pool.processes import ProcessPool

        return ProcessPool(run, policy, out / "generator", sampling_of(run))
    if run.generator.kind != "local" and run.regime.kind != "sync":
        from assay.trainer_adapter.grpo.pool.remote import ServerPool

        return ServerPool(run, policy, out / "generator", sampling_of(run))
    return InlinePool(generator, sampling_of(run), version=0 if run.generator.kind == "local" else -1)


def make_evaluator(
    run: Run, policy: Policy, scorer: SampleScorer, ranks: Ranks, generator: Generator
) -> Evaluator | None:
    """Return the evaluator, or None where the configuration has none.

    It samples on the server where that follows the trainer's weights, else in this process.
    """
    if not run.eval.every or run.data.eval is None:
        return None
    held_out = load_prompts(run.data.eval, run.data, policy.tokenizer, seed=run.seed, split=run.data.eval_split)
    current = run.generator.kind == "local" or run.generator.sync != "none"
    chosen = generator if current else LocalGenerator(policy, batch=run.generator.batch)
    return Evaluator(run, held_out, chosen, scorer, ranks)
