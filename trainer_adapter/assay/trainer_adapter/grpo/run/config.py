"""The configuration of a training run, as in its TOML file, validated before anything is loaded.

Sampling is from the policy itself: `top_p = 1`, `top_k = 0`, and the loss divides logits by the same temperature. With
other values, the sampled distribution would not be the one whose log-probs the loss uses, so they are refused.
Unknown keys are refused. Units are in the names. `docs/train.md` lists every key (`tests/grpo/test_config.py` checks
that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tomllib
from pydantic import Field, ValidationError, model_validator

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.kernels import Backend
from assay.trainer_adapter.grpo.objective.advantages import Kind
from assay.trainer_adapter.grpo.objective.correction import Mode
from assay.trainer_adapter.grpo.objective.losses import Kl, LossSpec, Ratio, Surrogate
from assay.trainer_adapter.grpo.objective.presets import PRESETS, Preset
from assay.trainer_adapter.grpo.objective.weights import Normaliser
from assay.trainer_adapter.grpo.run.section import Section
from assay.trainer_adapter.grpo.simulate.settings import Simulate


class Lora(Section):
    """Low-rank adapters (peft) over a frozen base."""

    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    target: str | list[str] = "all-linear"


class Model(Section):
    """The policy. `dtype`: of the forward's matrix products; parameters, losses and optimizer are fp32."""

    path: str
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: Lora | None = None
    gradient_checkpointing: bool = False
    reference: str | None = Field(None, description="Path of the reference model; default: the policy as it starts.")
    device: str = "auto"
    backend: Backend = "auto"


class Data(Section):
    """Rows; `prompt` is a template of their columns.

    `train` and `eval` are files (JSON lines, Parquet), folders of `datasets.save_to_disk`, or names of the hub.
    """

    train: str
    eval: str | None = None
    split: str = Field("train", description="Of `train`, where that has several.")
    eval_split: str = Field("test", description="Of `eval`, where that has several.")
    subset: str | None = Field(None, description="Configuration of a data set of the hub.")
    prompt: str = "{prompt}"
    system: str | None = None
    chat: bool = True
    max_prompt_tokens: int = Field(1024, ge=1)


class Reward(Section):
    """Where Assay is, which verifier scores, and against which reference. See docs/trainers.md for templates."""

    url: str | list[str] = "embedded:"
    verifier: str
    reference: dict[str, Any] | str
    fields: dict[str, Any] = Field({})
    api_key: str | None = Field(None, repr=False)
    deadline_s: float = Field(120.0, gt=0)
    patience_s: float | None = Field(None, gt=0, description="Seconds for verdicts once generation is done.")
    on_outage: Literal["abstain", "raise"] = "abstain"
    options: dict[str, Any] = Field({})


class Thinking(Section):
    """A bound on thinking: after `budget` tokens without `end`, the text `close` is forced.

    A completion thinks from its `start`, or from its first token where the template already wrote that (`prefilled`).
    """

    budget: int = Field(ge=1)
    prefilled: bool = False
    start: str = "<think>"
    end: str = "</think>"
    close: str = "\n</think>\n\n"


class Rollout(Section):
    """Groups of completions. `extra`: samples beyond `group`; stragglers are cancelled once `group` have verdicts."""

    prompts: int = Field(ge=1)
    group: int = Field(ge=2, description="An advantage is a difference to others of the group.")
    extra: int = Field(0, ge=0)
    max_tokens: int = Field(ge=1)
    temperature: float = Field(1.0, gt=0)
    top_p: float = 1.0
    top_k: int = 0
    thinking: Thinking | None = None

    @model_validator(mode="after")
    def _whole_distribution(self) -> Rollout:
        if self.top_p != 1.0 or self.top_k != 0:
            raise ValueError("top_p must be 1 and top_k 0: the loss knows the whole distribution only")
        return self


Sync = Literal["none", "sglang_disk", "vllm_lora", "vllm_reload"]


class GeneratorSettings(Section):
    """Where completions are sampled: in this process (`local`), or on a server.

    `logprobs`: which log-probs the server returns: of the sampled distribution (`processed`), of the model at
    temperature 1 (`raw`), or none.
    """

    kind: Literal["local", "openai", "vllm", "sglang"] = "local"
    url: str | list[str] = "http://127.0.0.1:8000"
    model: str = "policy"
    api_key: str | None = Field(None, repr=False)
    batch: int = Field(512, ge=1, description="Sequences at once.")
    timeout_s: float = Field(600.0, gt=0)
    logprobs: Literal["processed", "raw", "none"] = "processed"
    piece_tokens: int | None = Field(None, ge=1, description="Tokens of one request; longer samples take several.")
    sync: Sync = "none"


RegimeKind = Literal["sync", "async", "fully_async"]


class Regime(Section):
    """How generation and training take turns. See docs/async.md.

    `sync`: in turns, lag 0. `async`: at once; a group starts only if it will train at most `lag` versions after the
    weights that sample it. `fully_async`: generators never wait, the buffer holds `capacity` groups, and what is older
    than `lag` versions is dropped. `in_flight`: what happens to unfinished samples when new weights come. With
    `finish` they end under the old ones, `swap` goes on under the new ones with the KV cache that `kv` says, `abort`
    ends them and goes on from their prefix.
    """

    kind: RegimeKind = "sync"
    lag: int = Field(-1, ge=-1, description="Versions. Default (-1): 0 in sync, 1 in async, 8 in fully_async.")
    workers: int = Field(-1, ge=-1, description="Processes that sample; 0: the trainer's own. Default (-1): 0 or 1.")
    publish_every: int = Field(1, ge=1, description="Updates between publications of the weights.")
    capacity: int | None = Field(None, ge=1, description="Groups in the buffer. Default: 4 batches.")
    in_flight: Literal["finish", "swap", "abort"] = "swap"
    kv: Literal["keep", "recompute"] = "keep"
    group_deadline_s: float = Field(3600.0, gt=0, description="From a group's start to its last verdict.")
    mastered: float | None = Field(None, gt=0, le=1, description="Pass rate from which a prompt is not drawn again.")

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        sync = table.get("kind", "sync") == "sync"
        lag = {"sync": 0, "async": 1}.get(table.get("kind", "sync"), 8)
        known = {name: value for name, value in table.items() if (name, value) not in (("lag", -1), ("workers", -1))}
        return {"lag": lag, "workers": 0 if sync else 1, **known}

    @model_validator(mode="after")
    def _possible(self) -> Regime:
        if self.kind == "sync" and self.lag:
            raise ValueError("lag is 0 in the sync regime; kind = async has one")
        if self.kind == "async" and not self.lag:
            raise ValueError("lag = 0 is the sync regime; async needs a lag of 1 or more")
        if self.publish_every > self.lag + 1:
            raise ValueError("publish_every is above lag + 1: groups could not start for the batches in between")
        if self.capacity is not None and self.kind != "fully_async":
            raise ValueError("capacity is of fully_async: in the other regimes pacing bounds the buffer")
        return self


class Algorithm(Section):
    """A loss preset by name. Keys that are None by default override a field of the preset; the others are settings."""

    name: str = "dapo"
    advantage: Kind | None = None
    normaliser: Normaliser | None = None
    ratio: Ratio | None = None
    surrogate: Surrogate | None = None
    clip_low: float | None = None
    clip_high: float | None = None
    dual_clip: float | None = None
    ratio_cap: float | None = None
    tau_pos: float | None = None
    tau_neg: float | None = None
    kl: Kl | None = None
    kl_in: Literal["loss", "reward"] | None = None
    kl_correction: bool | None = None
    beta: float = Field(0.0, ge=0)
    kl_on_dead_groups: bool = False
    dynamic_sampling: bool | None = None
    max_rounds: int = Field(3, ge=1, description="Prompts drawn for a batch at most, in batches.")
    over_sampling: float = Field(1.0, ge=1.0, description="Prompts asked for, over prompts missing.")
    gate: Literal["score", "reward"] = "score"
    spread: float = Field(1e-6, ge=0)
    eps: float = Field(1e-4, ge=0)
    ddof: int = Field(1, ge=0, le=1)
    denominator: Literal["all", "live"] = "all"
    mask_truncated: bool = False
    correction: Mode = "none"
    correction_low: float = Field(0.0, ge=0)
    correction_high: float = Field(2.0, gt=0)
    min_ess: float = Field(0.05, ge=0, lt=1, description="Effective sample size, as a share of the tokens.")

    @model_validator(mode="after")
    def _known(self) -> Algorithm:
        if self.name not in PRESETS:
            raise ValueError(f"no such algorithm; there are {', '.join(PRESETS)}")
        if self.correction_low > self.correction_high:
            raise ValueError("correction_low is above correction_high: no ratio is between them")
        self.preset()
        return self

    def preset(self) -> Preset:
        """Return the preset with the overrides."""
        base = PRESETS[self.name]
        own = self.model_dump(exclude_none=True)
        loss = replace(base.loss, **{name: own[name] for name in LossSpec.__dataclass_fields__ if name in own})
        outer = ("advantage", "normaliser", "kl_in", "dynamic_sampling")
        return replace(base, loss=loss, **{name: own[name] for name in outer if name in own})


Beta = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(Section):
    """AdamW. `minibatches` x `epochs` updates a step; `micro_tokens` bounds a forward, padding included."""

    lr: float = Field(1e-6, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    max_grad_norm: float = Field(1.0, gt=0)
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = Field(0, ge=0)
    minibatches: int = Field(1, ge=1)
    epochs: int = Field(1, ge=1)
    micro_tokens: int = Field(16384, ge=1)


class Eval(Section):
    """Held-out rows, every so many steps. `k`: of pass@k."""

    every: int = Field(0, ge=0)
    rows: int = Field(256, ge=1)
    samples: int = Field(1, ge=1)
    k: list[int] = Field([1])
    temperature: float = Field(1.0, ge=0, description="0: greedy.")
    alarm_drop: float = Field(0.05, gt=0)

    @model_validator(mode="after")
    def _enough(self) -> Eval:
        if not self.k or max(self.k) > self.samples or min(self.k) < 1:
            raise ValueError("k lies between 1 and samples")
        return self


class Checkpoint(Section):
    """Checkpoints every so many steps and at the end, of which `keep` stay."""

    every: int = Field(50, ge=0)
    keep: int = Field(2, ge=1)


class Tracking(Section):
    """Where the figures are shown, besides `metrics.jsonl` and the report. See docs/train.md."""

    kind: list[Literal["tensorboard", "trackio", "wandb"]] = Field(["tensorboard"])
    project: str = "assay"
    name: str | None = Field(None, description="Of the run. Default: the run's, and eight characters.")


class Prepare(Section):
    """What a bundled recipe prepares before it trains: a model, rows."""

    kind: Literal["tiny_sums", "smollm2_sums"]
    options: dict[str, Any] = Field({})


class Run(Section):
    """The whole configuration file."""

    name: str = "run"
    seed: int = 0
    steps: int = Field(ge=1)
    threads: int | None = Field(None, ge=1)
    samples_kept: int = Field(4, ge=0, description="Sample rollouts kept for the report, a step.")
    max_ungraded_steps: int = Field(3, ge=1)
    max_low_ess_steps: int = Field(5, ge=1, description="Steps in a row below algorithm.min_ess that end the run.")
    prepare: Prepare | None = None
    model: Model
    data: Data
    reward: Reward
    rollout: Rollout
    generator: GeneratorSettings = GeneratorSettings()
    regime: Regime = Regime.model_validate({})
    algorithm: Algorithm = Algorithm()
    optimizer: Optimizer = Optimizer()
    eval: Eval = Eval()
    checkpoint: Checkpoint = Checkpoint()
    tracking: Tracking = Tracking()
    simulate: Simulate = Simulate()

    @model_validator(mode="before")
    @classmethod
    def _correct_lag(cls, table: Any) -> Any:
        """Correct for the lag of samples unless the file says not to: without, a lag of 1 undoes the training."""
        if not isinstance(table, Mapping):
            return table
        regime, algorithm = table.get("regime") or {}, table.get("algorithm") or {}
        if not (isinstance(regime, Mapping) and isinstance(algorithm, Mapping)) or regime.get("kind", "sync") == "sync":
            return table
        return {**table, "algorithm": {"correction": "token_truncate", **algorithm}}

    @model_validator(mode="after")
    def _together(self) -> Run:
        preset = self.algorithm.preset()
        if self.algorithm.beta > 0 and preset.loss.kl == "none":
            raise ValueError("beta > 0 with kl = none")
        thinking = self.rollout.thinking
        if thinking is not None and self.generator.kind == "openai":
            raise ValueError("a thinking budget needs a generator that takes token ids: local, vllm or sglang")
        if thinking is not None and thinking.budget >= self.rollout.max_tokens:
            raise ValueError("rollout.thinking.budget is not below rollout.max_tokens: it would never apply")
        if self.generator.kind != "local" and self.generator.sync == "none" and self.algorithm.correction == "none":
            raise ValueError(
                "generator.sync = none: the server never gets the trained weights; name how it does "
                f"({', '.join(name for name in get_args(Sync) if name != 'none')}), or an algorithm.correction"
            )
        if self.generator.kind != "local" and self.generator.sync == "none" and self.regime.kind != "sync":
            raise ValueError(
                f"regime.kind = {self.regime.kind} needs a generator.sync: the server's version is 0 for ever"
            )
        if self.regime.kind == "fully_async" and (self.regime.capacity or self.rollout.prompts) < self.rollout.prompts:
            raise ValueError("regime.capacity is below rollout.prompts: no batch would ever be complete")
        if self.regime.kind != "sync" and self.regime.workers == 0 and self.generator.kind == "local":
            raise ValueError(
                "regime.workers = 0 samples in the trainer's process, between updates: that is kind = sync"
            )
        return self


def load(path: Path, overrides: Sequence[str] = ()) -> Run:
    """Return the run of a TOML file, with `section.key=value` overrides (values as TOML). Raises ConfigurationError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not UTF-8") from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    for text in overrides:
        _override(table, text)
    return parse(table, str(path))


def parse(table: Mapping[str, Any], name: str) -> Run:
    """Return the run of a table. Raises ConfigurationError."""
    try:
        return Run.model_validate(table)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'run'}: {one['msg']}" for one in error.errors(include_input=False)[:5]
        )
        raise ConfigurationError(f"{name}: {faults}") from None


def _override(table: dict[str, Any], text: str) -> None:
    name, found, value = text.partition("=")
    if not found:
        raise ConfigurationError(f"--set wants section.key=value, not {text!r}")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    *outer, last = name.strip().split(".")
    for key in outer:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise ConfigurationError(f"--set {name}: {key} is not a table")
    table[last] = parsed
