"""The requests of generator servers: vLLM, SGLang, or any server with OpenAI's completions API.

Prompts travel as token ids and completions come back as token ids with their log-probs, so that nothing is
tokenised twice. A plain OpenAI server returns neither: its text is tokenised here, and its log-probs count as missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLAIN = {"presence_penalty": 0.0, "frequency_penalty": 0.0}
WHOLE = {**PLAIN, "repetition_penalty": 1.0, "min_p": 0.0, "top_k": -1}
"""Parameters that override a server's own sampling defaults (a model's generation_config), for every kind of server and
for vLLM and SGLang: the loss assumes sampling from the whole distribution."""


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
        (
            (
                "/v1/load_lora_adapter",
                {"lora_name": "policy-{version}", "lora_path": "{path}", "load_inplace": True},
            ),
        ),
        "policy-{version}",
    ),
}  # fmt: skip
"""Requests that are posted after a step, and the model's name from then on. `{path}`: the folder of the weights.

vLLM's `reload_weights` needs the path: without one it reads again what it started with. `/collective_rpc` needs
`VLLM_SERVER_DEV_MODE=1`. Without `load_inplace`, a name that an earlier run has loaded is refused.
"""


def call_of(kind: str, ask: Ask) -> Call:
    """Return the request of one sample on a server of a kind."""
    return _sglang_call(ask) if kind == "sglang" else _openai_call(ask, exact=kind == "vllm")


def piece_of(kind: str, answer: Mapping[str, Any], tokenizer: Any) -> Piece:
    """Return the tokens of an answer. Raises KeyError, IndexError, TypeError or ValueError if it has none."""
    return (_sglang_piece if kind == "sglang" else _openai_piece)(answer, tokenizer)


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """Return a body with its placeholders replaced, in nested objects too."""
    if isinstance(value, Mapping):
        return {key: filled(member, names) for key, member in value.items()}
    if not isinstance(value, str):
        return value
    for name, text in names.items():
        value = value.replace(f"{{{name}}}", text)
    return value
