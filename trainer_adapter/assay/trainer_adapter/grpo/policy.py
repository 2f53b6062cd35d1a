"""The policy: a causal model of transformers, its hidden states at the tokens that train, and its loss.

Parameters that train are fp32 (`dtype = bfloat16` runs the forward under autocast), as are logits, loss and optimizer.
A head that is one matrix uses the fused path; one that scales, caps or adds a bias uses the path over logits.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.kernels import Backend
from assay.trainer_adapter.grpo.objective.backend import head_loss, logits_loss, token_logp
from assay.trainer_adapter.grpo.objective.batch import Batch
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec
from assay.trainer_adapter.grpo.objective.precision import product32
from assay.trainer_adapter.grpo.run.config import Lora, Model

_SCALED_HEADS = ("final_logit_softcapping", "logit_scale", "logits_scaling")
LOGP_TOKENS = 4096
"""Tokens whose logits exist at once where only log-probs are needed."""


class Policy:
    """A model and its tokenizer."""

    def __init__(
        self, model: Any, tokenizer: Any, *, backend: Backend = "auto", autocast: bool = False, merged: bool = False
    ) -> None:
        """`merged`: whether adapters were merged into the model's weights when it was loaded."""
        self.model, self.tokenizer, self.merged = model, tokenizer, merged
        self.backend, self._autocast = backend, autocast
        self.device = next(model.parameters()).device
        self.adapted = hasattr(model, "disable_adapter")
        inner = model.get_base_model() if self.adapted else model
        self._decoder, self._head = inner.get_decoder(), inner.get_output_embeddings()
        scaled = any(getattr(inner.config.get_text_config(), name, None) for name in _SCALED_HEADS)
        plain = isinstance(self._head, torch.nn.Linear) and self._head.bias is None
        self._fused = plain and not scaled and not hasattr(self._head, "lora_A")
        self._inner = inner
        known = inspect.signature(inner.forward).parameters
        self._cache_argument = "cache" if "cache" in known else "past_key_values"
        # transformers 5.2x renamed it

    @classmethod
    def load(cls, settings: Model) -> Policy:
        """Load a model from a folder or a name. Raises ConfigurationError."""
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        device = _device(settings.device)
        try:
            tokenizer = AutoTokenizer.from_pretrained(settings.path)
            if is_adapter(settings.path):
                model = _merged(settings.path, _stored(settings))
            else:
                model = AutoModelForCausalLM.from_pretrained(settings.path, dtype=_stored(settings))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"model.path: {error}") from error
        model.to(device)
        if settings.gradient_checkpointing:
            # transformers 5.2x renamed it
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable({"use_reentrant": False})
        if settings.lora is not None:
            model = _adapted(model, settings.lora, settings.gradient_checkpointing)
        autocast = settings.dtype == "bfloat16"
        return cls(model, tokenizer, backend=settings.backend, autocast=autocast, merged=is_adapter(settings.path))

    def parameters(self) -> list[Any]:
        """Return the parameters that train, in a fixed order."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def end_ids(self) -> frozenset[int]:
        """Token ids that end a completion."""
        found = [self.tokenizer.eos_token_id]
        config = getattr(self._inner, "generation_config", None)
        more = getattr(config, "eos_token_id", None)
        found += more if isinstance(more, list) else [more]
        return frozenset(int(one) for one in found if one is not None)

    @contextlib.contextmanager
    def precision(self) -> Iterator[None]:
        """Enter autocast where the model runs in bfloat16."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self._autocast):
            yield

    def hidden(self, batch: Batch) -> Tensor:
        """Return the hidden states [N, H] from which the batch's tokens are predicted."""
        with self.precision():
            out = self._decoder(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False)
        states = out.last_hidden_state
        return states.reshape(-1, states.shape[-1])[batch.positions]

    def loss(self, batch: Batch, inputs: LossInputs, spec: LossSpec, *, temperature: float) -> tuple[Tensor, Any]:
        """Return the loss of a micro-batch (an fp32 scalar) and the figures of its tokens."""
        hidden = self.hidden(batch)
        if self._fused:
            return head_loss(
                hidden,
                self._head.weight,
                batch.tokens,
                inputs,
                spec,
                temperature=temperature,
                backend=self.backend,
                compute=self._compute,
            )
        logits = self._logits(hidden)
        return logits_loss(logits, batch.tokens, inputs, spec, temperature=temperature, backend=self.backend)

    @property
    def _compute(self) -> torch.dtype:
        """Dtype of the operands of the head's matrix product, that of the forward. The product itself is fp32."""
        return torch.bfloat16 if self._autocast else self._head.weight.dtype

    def next_logits(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return fp32 logits [B, V] after the last token of each of B sequences, and the cache, for a generator.

        The same head in the same precision as the loss: sampled and trained log-probs differ by noise only.
        """
        held = {} if cache is None else {self._cache_argument: cache}
        with self.precision():
            out = self._decoder(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, **held)
        return self._logits(out.last_hidden_state[:, -1]), out[self._cache_argument]

    def _logits(self, hidden: Tensor) -> Tensor:
        """Return fp32 logits, scaled and capped as the model does."""
        if self._fused:
            return product32(hidden.to(self._compute), self._head.weight.to(self._compute).t())
        config = self._inner.config.get_text_config()
        logits = self._head_logits(hidden)
        if getattr(config, "logits_scaling", None):
            logits = logits / config.logits_scaling
        if getattr(config, "logit_scale", None):
            logits = logits * config.logit_scale
        cap = getattr(config, "final_logit_softcapping", None)
        return torch.tanh(logits / cap) * cap if cap else logits

    def _head_logits(self, hidden: Tensor) -> Tensor:
        """Return fp32 logits of a head that is no plain matrix, or is scaled. The same under autocast as outside: a
        generator runs its forward under it, and the loss does not.
        """
        with torch.autocast(self.device.type, enabled=False):
            if type(self._head) is not torch.nn.Linear:
                return self._head(hidden.to(self._head.weight.dtype)).float()
            logits = product32(hidden.to(self._compute), self._head.weight.to(self._compute).t())
            return logits if self._head.bias is None else logits + self._head.bias.float()

    @torch.no_grad()
    def logps(self, batch: Batch, *, temperature: float) -> Tensor:
        """Return the log-probs of the batch's tokens, fp32 [N]."""
        hidden = self.hidden(batch)
        parts = [
            token_logp(self._logits(part), tokens, temperature=temperature)[0]
            for part, tokens in zip(hidden.split(LOGP_TOKENS), batch.tokens.split(LOGP_TOKENS), strict=True)
        ]
        return torch.cat(parts) if parts else hidden.new_zeros(0)

    def reference(self, settings: Model) -> Policy:
        """Return the frozen reference model for the KL: adapters off, another model, or a copy of this one."""
        if settings.reference is not None:
            return Policy.load(settings.model_copy(update={"path": settings.reference, "lora": None})).frozen()
        if self.adapted:
            return _WithoutAdapters(self)
        return Policy(copy.deepcopy(self.model), self.tokenizer, backend=self.backend, autocast=self._autocast).frozen()

    def frozen(self) -> Policy:
        """Return this policy with its gradients switched off."""
        self.model.requires_grad_(False).eval()
        return self

    def save(self, folder: Path) -> None:
        """Save the weights (safetensors; only the adapters, where there are any) and the tokenizer."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Load the weights of `save`, bit for bit."""
        from safetensors.torch import load_file

        if self.adapted:
            from peft import set_peft_model_state_dict

            set_peft_model_state_dict(self.model, load_file(folder / "adapter_model.safetensors"))
            return
        tensors: dict[str, Any] = {}
        for part in sorted(folder.glob("model*.safetensors")):
            tensors.update(load_file(part))
        missing, unexpected = self.model.load_state_dict(tensors, strict=False)
        tied = set(getattr(self.model, "_tied_weights_keys", None) or ())
        if set(missing) - tied or unexpected:
            raise ConfigurationError(f"{folder}: not the weights of this model")


class _WithoutAdapters(Policy):
    """The base model under the adapters of a policy."""

    def __init__(self, policy: Policy) -> None:
        self.__dict__.update(vars(policy))

    def logps(self, batch: Batch, *, temperature: float) -> Tensor:
        """Return the log-probs with the adapters off, fp32 [N]."""
        with self.model.disable_adapter():
            return super().logps(batch, temperature=temperature)


def _device(name: str) -> torch.device:
    """Return the device of a name. Raises ConfigurationError where this machine has none such."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        raise ConfigurationError(f"model.device: {name!r}: {str(error).splitlines()[0]}") from None
    if device.type == "meta":
        raise ConfigurationError("model.device: 'meta' holds no numbers")
    return device


def _stored(settings: Model) -> torch.dtype:
    """Return the dtype of stored parameters: fp32, or that of the forward for a frozen base under adapters."""
    frozen = settings.lora is not None and settings.dtype == "bfloat16"
    return torch.bfloat16 if frozen else torch.float32


def is_adapter(path: str) -> bool:
    """Return whether a model's folder holds adapters over another model, as checkpoints of a run with LoRA do."""
    return (Path(path) / "adapter_config.json").is_file()


def _merged(path: str, dtype: torch.dtype) -> Any:
    """Return the base model of a folder of adapters with the adapters merged into its weights, in fp32 arithmetic.

    The base may be such a folder itself: a run on merged adapters names theirs as its base. Raises `OSError` and
    `ValueError` as transformers does.
    """
    from peft import PeftConfig, PeftModel
    from transformers import AutoModelForCausalLM

    name = str(PeftConfig.from_pretrained(path).base_model_name_or_path)
    if is_adapter(name):
        base = _merged(name, torch.float32)
    else:
        base = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
    model = PeftModel.from_pretrained(base, path).merge_and_unload().to(dtype)
    model.name_or_path = str(Path(path).resolve())  # the base that adapters over this model are saved with
    return model


def _adapted(model: Any, lora: Lora, checkpointing: bool) -> Any:
    from peft import LoraConfig, get_peft_model

    if checkpointing:
        model.enable_input_require_grads()
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=lora.target, task_type="CAUSAL_LM"
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise ConfigurationError(f"model.lora: {error}") from None
