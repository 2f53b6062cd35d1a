"""The generator on servers for the sync regime and for evaluation: draws are spread over the servers in turn.

One request a sample, cancelled when its group has enough. The trainer's weights reach the servers after each update as
a table says (`server_api.SYNCS`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.weights import Weights
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.generate import Deliver, Enough
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.server_api import SYNCS
from assay.trainer_adapter.grpo.rollout.server_client import GeneratorFailed, clients_of
from assay.trainer_adapter.grpo.run.config import GeneratorSettings

__all__ = ["GeneratorFailed", "ServerGenerator", "check_lora"]

LOOK_S = 0.02


def check_lora(settings: GeneratorSettings, policy: Policy) -> None:
    """Refuse `vllm_lora` where there are no adapters of this run alone. Raises `ConfigurationError`."""
    if settings.sync == "vllm_lora" and not policy.adapted:
        raise ConfigurationError("generator.sync = vllm_lora needs model.lora")
    if settings.sync == "vllm_lora" and policy.merged:
        raise ConfigurationError(
            "generator.sync = vllm_lora: model.path holds adapters, which are merged here and not on the server; "
            "save the merged model and start the server with it"
        )


class ServerGenerator:
    """Samples completions on servers."""

    def __init__(self, settings: GeneratorSettings, policy: Policy, folder: Path, *, writes: bool = True) -> None:
        """`folder`: where weights are written for the servers, which must see it. `writes`: whether this rank does."""
        check_lora(settings, policy)
        self._settings, self._writes = settings, writes
        self._weights = Weights(policy, folder)
        self._clients = clients_of(settings, policy.tokenizer)
        self._version = 0
        self.tokens = 0

    def run(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        """Sample `how.samples` completions of every draw. Raises `GeneratorFailed`."""
        asyncio.run(self._all(draws, how, deliver, enough))

    async def _all(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        async with contextlib.AsyncExitStack() as stack:
            servers = [(one, await stack.enter_async_context(one.http())) for one in self._clients]
            gate = asyncio.Semaphore(self._settings.batch * len(servers))

            async def sample(place: int, draw: Draw, index: int) -> None:
                client, http = servers[place % len(servers)]
                async with gate:
                    found = await client.sample(http, draw, index, how, version=lambda: self._version)
                self.tokens += found.tokens
                deliver(found)

            tasks = {
                asyncio.create_task(sample(place, draw, index)): draw.number
                for place, draw in enumerate(draws)
                for index in range(how.samples)
            }
            try:
                await self._until_enough(tasks, enough)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_enough(self, tasks: Mapping[asyncio.Task[None], int], enough: Enough) -> None:
        """Wait for the samples, and cancel the stragglers of groups with enough verdicts."""
        open_ = set(tasks)
        while open_:
            done, open_ = await asyncio.wait(open_, timeout=LOOK_S, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            for task in [task for task in open_ if enough(tasks[task])]:
                task.cancel()
                open_.discard(task)

    def sync(self, version: int) -> None:
        """Write the weights, and let every server load them. Raises `GeneratorFailed` and `PublicationFailed`."""
        self._version = version
        calls, _ = SYNCS[self._settings.sync]
        if calls and self._writes:
            asyncio.run(self._load(self._weights.write(version), version))
        for client in self._clients:
            client.name_version(version)

    async def _load(self, path: Path, version: int) -> None:
        for client in self._clients:
            async with client.http() as http:
                await client.load(http, path, version)

    def close(self) -> None:
        """Do nothing: the servers belong to somebody else."""
