"""Generators on servers: vLLM, SGLang, or any server with OpenAI's completions API.

Prompts travel as token ids and completions come back as token ids with their log-probs, so that nothing is
tokenised twice. A plain OpenAI server returns neither: its text is tokenised here, and its log-probs count as missing.
A server's log-probs are used only where they are of the sampled distribution (`logprobs = "processed"`: vLLM needs
`--logprobs-mode processed_logprobs`; or temperature 1): raw ones are those of another temperature. One request a
sample, cancelled when its group has enough. The trainer's weights reach the server after each step as a table says.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from assay.client import AssayError, ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.generate import Deliver, Enough
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import key
from assay.trainer_adapter.grpo.run.config import GeneratorSettings, Thinking

PLAIN = {"presence_penalty": 0.0, "frequency_penalty": 0.0}
WHOLE = {**PLAIN, "repetition_penalty": 1.0, "min_p": 0.0, "top_k": -1}
"""Parameters that override a server's own sampling defaults (a model's generation_config), for every kind of server and
for vLLM and SGLang: the loss assumes sampling from the whole distribution."""
TRIES = 4
LOOK_S = 0.02


class GeneratorFailed(AssayError):
    """The generator's server gives no answer, or a wrong one."""


@dataclass(frozen=True)
class Piece:
    """The tokens of one request."""

    ids: list[int]
    logps: list[float]
    ended: bool


Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Ask:
    """One sample: its tokens so far, and how many more it may have."""

    ids: Sequence[int]
    max_tokens: int
    temperature: float
    seed: int
    model: str


def _openai_call(ask: Ask, *, exact: bool) -> Call:
    body: dict[str, Any] = {
        "model": ask.model, "prompt": list(ask.ids), "max_tokens": ask.max_tokens, "temperature": ask.temperature,
        "top_p": 1.0, "seed": ask.seed % 2**31, "logprobs": 1, **PLAIN,
    }  # fmt: skip
    exactly = {"return_token_ids": True, "return_tokens_as_token_ids": True, "skip_special_tokens": False, **WHOLE}
    return "/v1/completions", {**body, **(exactly if exact else {})}


def _sglang_call(ask: Ask) -> Call:
    sampling = {"max_new_tokens": ask.max_tokens, "temperature": ask.temperature, "top_p": 1.0, **WHOLE}
    body = {"input_ids": list(ask.ids), "sampling_params": {**sampling, "sampling_seed": ask.seed % 2**31}}
    return "/generate", {**body, "return_logprob": True}


def _openai_piece(answer: Mapping[str, Any], tokenizer: Any) -> Piece:
    choice = answer["choices"][0]
    logs = choice.get("logprobs") or {}
    logps = [math.nan if one is None else float(one) for one in logs.get("token_logprobs") or []]
    ids = choice.get("token_ids")
    names = logs.get("tokens") or []
    if ids is None and names and all(str(name).startswith("token_id:") for name in names):
        ids = [int(str(name).removeprefix("token_id:")) for name in names]
    ended = choice.get("finish_reason") == "stop"
    if ids is None:
        ids = list(tokenizer(choice["text"], add_special_tokens=False)["input_ids"])
        ids += [tokenizer.eos_token_id] * ended
        logps = []
    return Piece(list(ids), logps if len(logps) == len(ids) else [math.nan] * len(ids), ended)


def _sglang_piece(answer: Mapping[str, Any], tokenizer: Any) -> Piece:
    about = answer["meta_info"]
    entries = about["output_token_logprobs"]
    ended = (about.get("finish_reason") or {}).get("type") == "stop"
    return Piece([int(one[1]) for one in entries], [float(one[0]) for one in entries], ended)


SYNCS: Mapping[str, tuple[Sequence[Call], str | None]] = {
    "none": ((), None),
    "sglang_disk": ((("/update_weights_from_disk", {"model_path": "{path}"}),), None),
    "vllm_reload": (
        (
            ("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": "{path}"}}),
            ("/reset_prefix_cache", {}),
        ),
        None,
    ),
    "vllm_lora": (
        (("/v1/load_lora_adapter", {"lora_name": "policy-{version}", "lora_path": "{path}"}),), "policy-{version}",
    ),
}  # fmt: skip
"""Requests that are posted after a step, and the model's name from then on. `{path}`: the folder of the weights.

vLLM's `reload_weights` needs the path: without one it reads again what it started with. `/collective_rpc` needs
`VLLM_SERVER_DEV_MODE=1`.
"""


class ServerGenerator:
    """Samples completions on a server."""

    def __init__(self, settings: GeneratorSettings, policy: Policy, folder: Path, *, writes: bool = True) -> None:
        """`folder`: where weights are written for the server, which must see it. `writes`: whether this rank writes."""
        self._settings, self._policy, self._folder, self._writes = settings, policy, folder, writes
        self._model = settings.model
        self.tokens = 0
        if settings.sync == "vllm_lora" and not policy.adapted:
            raise ConfigurationError("generator.sync = vllm_lora needs model.lora")
        if settings.sync == "vllm_lora" and policy.merged:
            raise ConfigurationError(
                "generator.sync = vllm_lora: model.path holds adapters, which are merged here and not on the server; "
                "save the merged model and start the server with it"
            )

    def run(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        """Sample `how.samples` completions of every draw. Raises `GeneratorFailed`."""
        asyncio.run(self._all(draws, how, deliver, enough))

    async def _all(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        gate = asyncio.Semaphore(self._settings.batch)
        async with self._client() as client:
            tasks = {
                asyncio.create_task(self._sample(client, gate, draw, index, how, deliver)): draw.number
                for draw in draws
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

    async def _sample(
        self,
        client: httpx.AsyncClient,
        gate: asyncio.Semaphore,
        draw: Draw,
        index: int,
        how: Sampling,
        deliver: Deliver,
    ) -> None:
        seed = key(how.seed, how.stream, draw.number, index)
        async with gate:
            sample = Sample(draw.number, index, [], [], [], "", truncated=True)
            for cap, close in self._stages(how):
                piece = await self._ask(client, [*draw.prompt.ids, *sample.ids], cap - len(sample.ids), how, seed)
                self._grow(sample, piece, how)
                if piece.ended:
                    sample.truncated = False
                    break
                if close is not None and len(sample.ids) >= cap and self._thinks(sample, close):
                    self._force(sample, close)
        sample.text = self._policy.tokenizer.decode(sample.ids, skip_special_tokens=True)
        self.tokens += sample.tokens
        deliver(sample)

    def _stages(self, how: Sampling) -> list[tuple[int, Thinking | None]]:
        """Return the length of the next stop and what happens there: the thinking budget, then the cap."""
        if how.thinking is None or how.thinking.budget >= how.max_tokens:
            return [(how.max_tokens, None)]
        return [(how.thinking.budget, how.thinking), (how.max_tokens, None)]

    def _thinks(self, sample: Sample, thinking: Thinking) -> bool:
        """Return whether it has begun to think and not ended."""
        text = self._policy.tokenizer.decode(sample.ids)
        return thinking.end not in text and (thinking.prefilled or text.lstrip().startswith(thinking.start))

    def _force(self, sample: Sample, thinking: Thinking) -> None:
        ids = self._policy.tokenizer(thinking.close, add_special_tokens=False)["input_ids"]
        sample.ids += ids
        sample.mask += [False] * len(ids)
        sample.logps += [math.nan] * len(ids)

    def _grow(self, sample: Sample, piece: Piece, how: Sampling) -> None:
        usable = self._settings.logprobs == "processed" or (self._settings.logprobs == "raw" and how.temperature == 1.0)
        sample.ids += piece.ids
        sample.mask += [True] * len(piece.ids)
        sample.logps += piece.logps if usable else [math.nan] * len(piece.ids)

    async def _ask(self, client: httpx.AsyncClient, ids: Sequence[int], room: int, how: Sampling, seed: int) -> Piece:
        ask = Ask(ids, room, how.temperature, seed, self._model)
        kind = self._settings.kind
        path, body = _sglang_call(ask) if kind == "sglang" else _openai_call(ask, exact=kind == "vllm")
        answer = await self._post(client, path, body)
        try:
            read = _sglang_piece if kind == "sglang" else _openai_piece
            return read(answer, self._policy.tokenizer)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise GeneratorFailed(f"{path}: an answer without {error}") from error

    async def _post(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
        """Return the answer; retry outages and 5xx with exponential back-off."""
        for tries in range(TRIES):
            try:
                answer = await client.post(path, json=body)
                if answer.status_code < 500 and answer.status_code != 429:
                    break
                fault = f"status {answer.status_code}"
            except httpx.TransportError as error:
                fault = type(error).__name__
            if tries == TRIES - 1:
                raise GeneratorFailed(f"{self._settings.url}{path}: {fault}, {TRIES} times")
            await asyncio.sleep(0.2 * 4**tries)
        if answer.status_code != 200:
            raise GeneratorFailed(f"{self._settings.url}{path}: refused with status {answer.status_code}")
        return answer.json() if answer.content else {}

    def _client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}
        limits = httpx.Limits(max_connections=self._settings.batch)
        return httpx.AsyncClient(
            base_url=self._settings.url, headers=headers, limits=limits, timeout=self._settings.timeout_s
        )

    def sync(self, version: int) -> None:
        """Write the weights for the server, then post the request of `sync`. Raises GeneratorFailed."""
        calls, model = SYNCS[self._settings.sync]
        if calls and self._writes:
            path = self._folder / f"version-{version}"
            self._policy.save(path)
            names = {"path": str(path.resolve()), "version": str(version)}
            asyncio.run(self._calls([(where, _filled(body, names)) for where, body in calls]))
            for old in self._folder.glob("version-*"):
                if old != path:
                    shutil.rmtree(old)
        if model is not None:
            self._model = model.replace("{version}", str(version))

    async def _calls(self, calls: Sequence[Call]) -> None:
        async with self._client() as client:
            for path, body in calls:
                await self._post(client, path, body)

    def close(self) -> None:
        """Do nothing: the server belongs to somebody else."""


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """Return a body with its placeholders replaced, in nested objects too."""
    if isinstance(value, Mapping):
        return {key: _filled(member, names) for key, member in value.items()}
    for name, text in names.items():
        value = value.replace(f"{{{name}}}", text)
    return value
