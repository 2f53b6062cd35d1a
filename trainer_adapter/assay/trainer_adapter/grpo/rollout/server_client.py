"""One generator server: samples by several requests where they must be cut, and weights that it is told to load.

A server's log-probs are used only where they are of the sampled distribution (`logprobs = "processed"`: vLLM needs
`--logprobs-mode processed_logprobs`; or temperature 1): raw ones are those of another temperature.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from assay.client import AssayError
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import key
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.server_api import SYNCS, Ask, Piece, call_of, filled, piece_of
from assay.trainer_adapter.grpo.run.config import GeneratorSettings, Thinking

TRIES = 4


class GeneratorFailed(AssayError):
    """The generator's server gives no answer, or a wrong one."""


class GeneratorRefused(GeneratorFailed):
    """The generator's server refuses a request: the model's name, the length of a prompt, an unknown call."""


class ServerClient:
    """Asks one server for samples."""

    def __init__(self, settings: GeneratorSettings, url: str, tokenizer: Any, *, tries: int = TRIES) -> None:
        self.settings, self.url, self._tokenizer, self._tries = settings, url, tokenizer, tries
        self._model = settings.model

    def http(self) -> httpx.AsyncClient:
        """Return a client of the server, to be closed by the caller."""
        settings = self.settings
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        limits = httpx.Limits(max_connections=settings.batch + 1)
        return httpx.AsyncClient(base_url=self.url, headers=headers, limits=limits, timeout=settings.timeout_s)

    async def sample(
        self, http: httpx.AsyncClient, draw: Draw, index: int, how: Sampling, *, version: Callable[[], int],
        piece_tokens: int | None = None, sample: Sample | None = None,
    ) -> Sample:  # fmt: skip
        """Return a finished sample. Raises `GeneratorFailed`.

        `version`: of the weights, asked before each request. `piece_tokens`: tokens of one request at most. `sample`:
        an unfinished one to go on from; it holds what is sampled so far at any moment, also if the call is cancelled.
        """
        one = sample or Sample(draw.number, index, [], [], [], "", truncated=True)
        for cap, close in self._stages(how):
            while len(one.ids) < cap and one.truncated:
                room = min(cap - len(one.ids), piece_tokens or cap)
                held = version()
                piece = await self._ask(http, draw, one, room, how)
                self._grow(one, piece, how, held)
                one.truncated = not piece.ended
            if not one.truncated:
                break
            if close is not None and len(one.ids) == cap and self._thinks(one, close):
                self._force(one, close, version())
        one.text = self._tokenizer.decode(one.ids, skip_special_tokens=True)
        return one

    def _stages(self, how: Sampling) -> list[tuple[int, Thinking | None]]:
        """Return the length of the next stop and what happens there: the thinking budget, then the cap."""
        if how.thinking is None or how.thinking.budget >= how.max_tokens:
            return [(how.max_tokens, None)]
        return [(how.thinking.budget, how.thinking), (how.max_tokens, None)]

    def _thinks(self, sample: Sample, thinking: Thinking) -> bool:
        """Return whether it has begun to think and not ended."""
        text = self._tokenizer.decode(sample.ids)
        return thinking.end not in text and (thinking.prefilled or text.lstrip().startswith(thinking.start))

    def _force(self, sample: Sample, thinking: Thinking, version: int) -> None:
        ids = self._tokenizer(thinking.close, add_special_tokens=False)["input_ids"]
        sample.ids += ids
        sample.mask += [False] * len(ids)
        sample.logps += [math.nan] * len(ids)
        sample.spans.append((version, len(ids)))

    def _grow(self, sample: Sample, piece: Piece, how: Sampling, version: int) -> None:
        mode = self.settings.logprobs
        usable = mode == "processed" or (mode == "raw" and how.temperature == 1.0)
        sample.ids += piece.ids
        sample.mask += [True] * len(piece.ids)
        sample.logps += piece.logps if usable else [math.nan] * len(piece.ids)
        sample.spans.append((version, len(piece.ids)))

    async def _ask(self, http: httpx.AsyncClient, draw: Draw, sample: Sample, room: int, how: Sampling) -> Piece:
        done = len(sample.ids)
        # a request that goes on from a prefix has random numbers of its own
        seed = key(how.seed, how.stream, draw.number, sample.index, *([done] if done else []))
        ask = Ask([*draw.prompt.ids, *sample.ids], room, how.temperature, seed, self._model)
        path, body = call_of(self.settings.kind, ask)
        answer = await self.post(http, path, body)
        try:
            return piece_of(self.settings.kind, answer.json(), self._tokenizer)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise GeneratorFailed(f"{path}: an answer without {error}") from error

    async def post(self, http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> httpx.Response:
        """Return the answer; retry outages and 5xx with exponential back-off. Raises `GeneratorFailed`."""
        for tries in range(self._tries):
            try:
                answer = await http.post(path, json=body)
                if answer.status_code < 500 and answer.status_code != 429:
                    break
                fault = f"status {answer.status_code}"
            except httpx.TransportError as error:
                fault = type(error).__name__
            if tries == self._tries - 1:
                raise GeneratorFailed(f"{self.url}{path}: {fault}, {self._tries} times")
            await asyncio.sleep(0.2 * 4**tries)
        if answer.status_code != 200:
            raise GeneratorRefused(f"{self.url}{path}: refused with status {answer.status_code}")
        return answer

    async def load(self, http: httpx.AsyncClient, path: Path, version: int) -> None:
        """Tell the server to load the weights in a folder. Raises `GeneratorFailed`."""
        calls, _ = SYNCS[self.settings.sync]
        names = {"path": str(path.resolve()), "version": str(version)}
        for where, body in calls:
            await self.post(http, where, filled(body, names))
        self.name_version(version)

    def name_version(self, version: int) -> None:
        """Ask for the model's name of a version from now on."""
        _, model = SYNCS[self.settings.sync]
        if model is not None:
            self._model = model.replace("{version}", str(version))


def clients_of(settings: GeneratorSettings, tokenizer: Any, *, tries: int = TRIES) -> Sequence[ServerClient]:
    """Return a client for every URL of the settings."""
    urls = [settings.url] if isinstance(settings.url, str) else settings.url
    return [ServerClient(settings, url, tokenizer, tries=tries) for url in urls]
