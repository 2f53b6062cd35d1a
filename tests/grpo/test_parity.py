"""The same numbers as TRL 1.16 and Liger 0.8.5 where they are right, and the places where they are not.

TRL's own `_compute_loss` runs unbound on our log-probs; Liger's Triton kernels run in the interpreter.
"""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from assay.trainer_adapter.grpo.kernels.logits import forward
from assay.trainer_adapter.grpo.objective.backend import token_logp
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, loss_of
from assay.trainer_adapter.grpo.objective.segments import offsets_of, per_token
from assay.trainer_adapter.grpo.objective.weights import token_weights, totals

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
trl_trainer = pytest.importorskip("trl.trainer.grpo_trainer", reason="trl is not installed")
liger = pytest.importorskip("liger_kernel.ops.grpo_loss", reason="liger-kernel is not installed")

LENGTHS, WIDTH, VOCAB, BETA = [3, 1, 4, 2], 4, 19, 0.05
NAMES: dict[str, tuple[LossSpec, str, dict[str, Any]]] = {
    "grpo": (LossSpec(), "sequence", {}),
    "bnpo": (LossSpec(), "tokens", {}),
    "dr_grpo": (LossSpec(), "constant", {}),
    "dapo": (LossSpec(clip_high=0.28), "tokens", {"epsilon_high": 0.28}),
    "cispo": (LossSpec(surrogate="cispo", ratio_cap=1.1), "tokens", {"epsilon_high": 1.1}),
    "sapo": (LossSpec(surrogate="sapo"), "sequence", {}),
    "dual": (LossSpec(dual_clip=1.5), "sequence", {"loss_type": "grpo", "delta": 1.5}),
    "gspo": (LossSpec(ratio="sequence"), "sequence", {"loss_type": "grpo", "level": "sequence"}),
    "luspo": (LossSpec(ratio="sequence"), "sum", {"level": "sequence"}),
}


class Case:
    """One batch, padded as they have it and packed as we do."""

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(4)
        self.mask = torch.arange(WIDTH)[None] < torch.tensor(LENGTHS)[:, None]
        self.logits = 2 * torch.randn(4, WIDTH + 1, VOCAB, generator=random)
        self.tokens = torch.randint(0, VOCAB, (4, WIDTH), generator=random)
        self.advantages = torch.tensor([1.2, -0.7, 0.4, -0.9])
        now = token_logp(self.logits[:, :-1].reshape(-1, VOCAB), self.tokens.reshape(-1), temperature=1.0)[0]
        noise = torch.randn(2, 4, WIDTH, generator=random)
        self.old, self.ref = now.reshape(4, WIDTH) + 0.3 * noise[0], now.reshape(4, WIDTH) - 0.2 * noise[1]

    def ours(self, spec: LossSpec, normaliser: str, logp: torch.Tensor) -> torch.Tensor:
        offsets = offsets_of(torch.tensor(LENGTHS))
        every = torch.ones(4, dtype=torch.bool)
        weights = token_weights(
            offsets, totals(offsets, every), normaliser=normaliser, keep=every, max_tokens=WIDTH, beta=BETA  # type: ignore[arg-type]
        )  # fmt: skip
        a = per_token(self.advantages, offsets)
        rows = LossInputs(offsets, self.old[self.mask], a, weights.w_pg, weights.w_kl, self.ref[self.mask])
        return loss_of(logp[self.mask], rows, spec)[0]


def trls(case: Case, name: str, logp: torch.Tensor, extra: dict[str, Any]) -> torch.Tensor:
    same = SimpleNamespace(gather=lambda x: x, reduce=lambda x, reduction: x, num_processes=1, sync_gradients=True)
    args = SimpleNamespace(
        use_bias_correction_kl=False, delta=extra.get("delta"), steps_per_generation=1,
        sapo_temperature_pos=1.0, sapo_temperature_neg=1.05,
    )  # fmt: skip
    from collections import defaultdict

    trainer = SimpleNamespace(
        accelerator=same, args=args, model=SimpleNamespace(training=True), aux_loss_enabled=False, beta=BETA,
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, use_vllm=False, epsilon_low=0.2,
        epsilon_high=extra.get("epsilon_high", 0.2), loss_type=extra.get("loss_type", name),
        importance_sampling_level=extra.get("level", "token"), max_completion_length=WIDTH,
        current_gradient_accumulation_steps=1, _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
        _get_per_token_logps_and_entropies=lambda *_, **__: (logp, torch.zeros_like(logp), None),
    )  # fmt: skip
    prompt = torch.ones(4, 1, dtype=torch.long)
    inputs = {
        "prompt_ids": prompt, "prompt_mask": prompt, "completion_ids": case.tokens, "completion_mask": case.mask.long(),
        "advantages": case.advantages, "old_per_token_logps": case.old, "ref_per_token_logps": case.ref,
        "num_items_in_batch": case.mask.sum(),
    }  # fmt: skip
    return trl_trainer.GRPOTrainer._compute_loss(trainer, None, inputs)


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradient_are_trls(name: str) -> None:
    spec, normaliser, extra = NAMES[name]
    case = Case()
    start = token_logp(case.logits[:, :-1].reshape(-1, VOCAB), case.tokens.reshape(-1), temperature=1.0)[0].reshape(
        4, WIDTH
    )
    results = []
    for compute in (lambda p: case.ours(spec, normaliser, p), lambda p: trls(case, name, p, extra)):
        logp = start.clone().requires_grad_()
        loss = compute(logp)
        loss.backward()
        assert logp.grad is not None
        results.append((loss.item(), logp.grad * case.mask))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5, abs=1e-7)
    if name != "gspo" and name != "luspo":
        assert torch.allclose(results[0][1], results[1][1], atol=1e-6)
    else:  # a token's share of the sequence's ratio: TRL keeps it in the graph over masked tokens as well
        assert torch.allclose(results[0][1], results[1][1], atol=1e-5)


def ligers(case: Case, name: str, extra: dict[str, Any]) -> tuple[float, torch.Tensor]:
    z = case.logits.clone().requires_grad_()
    out = liger.GrpoLossFunction.apply(
        z, case.old, case.ref, case.tokens, case.advantages, case.mask.long(), 1.0, BETA, 0.2,
        extra.get("epsilon_high", 0.2), False, extra.get("loss_type", name), WIDTH, True, extra.get("level", "token"),
        1.0, 1.05, None, extra.get("delta"), False, None, None,
    )  # fmt: skip
    out[0].backward()
    assert z.grad is not None
    return out[0].item(), z.grad


def ours_from_logits(case: Case, name: str) -> tuple[float, torch.Tensor]:
    spec, normaliser, _ = NAMES[name]
    z = case.logits.clone().requires_grad_()
    logp = token_logp(z[:, :-1].reshape(-1, VOCAB), case.tokens.reshape(-1), temperature=1.0)[0].reshape(4, WIDTH)
    loss = case.ours(spec, normaliser, logp)
    loss.backward()
    assert z.grad is not None
    return loss.item(), z.grad


@pytest.mark.parametrize("name", [name for name in NAMES if name != "luspo"])
def test_loss_and_gradient_are_ligers(name: str) -> None:
    case = Case()
    (loss, gradient), (want, right) = ours_from_logits(case, name), ligers(case, name, NAMES[name][2])
    assert loss == pytest.approx(want, rel=1e-4, abs=1e-6) and torch.allclose(gradient, right, atol=1e-5)


def test_fault_5_ligers_luspo_is_another_loss_than_trls_and_ours() -> None:
    case = Case()
    (loss, gradient), (other, wrong) = ours_from_logits(case, "luspo"), ligers(case, "luspo", NAMES["luspo"][2])
    assert abs(loss - other) > 1e-3 and (gradient - wrong).norm() / gradient.norm() > 0.1


def test_fault_13_trls_entropy_of_a_masked_vocabulary_is_nan_and_ours_is_not() -> None:
    from trl.kernels.logprob_entropy import selective_log_softmax_and_entropy

    logits = torch.randn(1, 2, 40, generator=torch.Generator().manual_seed(0))
    logits[..., 5:20] = -math.inf
    tokens = torch.tensor([[1, 2]])
    theirs = trl_entropy(selective_log_softmax_and_entropy, logits, tokens)
    ours = forward(logits[0].clone(), tokens[0], temperature=1.0, block=16)
    assert torch.isnan(theirs).any() and torch.isfinite(ours.entropy).all()


def trl_entropy(function: Any, logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    with pytest.MonkeyPatch.context() as patch:
        import warnings

        patch.setattr(warnings, "filters", [("ignore", None, Warning, None, 0)])
        return function(logits, tokens)[1]


def test_trl_and_liger_do_not_bound_the_log_ratio() -> None:
    case = Case()
    case.old = case.old - 100
    ours, _ = ours_from_logits(case, "grpo")
    logp = torch.full((4, WIDTH), -1.0, requires_grad=True)
    case.mask[0, 2:] = False
    trls(case, "grpo", logp, {}).backward()
    assert math.isfinite(ours) and logp.grad is not None and not torch.isfinite(logp.grad).all()
