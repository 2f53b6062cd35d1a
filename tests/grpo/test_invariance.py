"""However a window is cut, padded, packed or spread over ranks: the same gradient, for every algorithm."""

import os
import socket
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from transformers import Qwen2Config, Qwen2ForCausalLM

from assay.trainer_adapter.grpo.objective.losses import loss_of
from assay.trainer_adapter.grpo.objective.presets import PRESETS

from ._window import gradient, head, inputs_of, logp_of, near_old, whole_of, window

DTYPES = {torch.float64: 1e-6, torch.float32: 1e-4}
EVERY = [(name, dtype) for name in PRESETS for dtype in DTYPES]


def same(got: torch.Tensor, want: torch.Tensor, tolerance: float) -> bool:
    assert want.abs().max() > 1e-6
    return float((got - want).norm() / want.norm()) <= tolerance


@pytest.mark.parametrize(("name", "dtype"), EVERY)
@pytest.mark.parametrize(
    "cut",
    [[[i] for i in range(12)], [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11]], [[11, 3], [0, 7, 1, 2, 4, 5, 6, 8, 9, 10]]],
)
def test_micro_batches_and_accumulation(name: str, dtype: torch.dtype, cut: list[list[int]]) -> None:
    preset = PRESETS[name]
    part = near_old(window(preset, dtype=dtype), head(dtype))
    whole = whole_of(part)
    loss, want = gradient([part], preset, whole)
    split_loss, got = gradient([part.take(index) for index in cut], preset, whole)
    assert same(got, want, DTYPES[dtype]) and split_loss == pytest.approx(loss, rel=DTYPES[dtype], abs=1e-6)


@pytest.mark.parametrize("name", PRESETS)
def test_fault_4_a_micro_batchs_own_denominator_changes_the_gradient(name: str) -> None:
    preset = PRESETS[name]
    part = near_old(window(preset, dtype=torch.float64), head(torch.float64))
    _, want = gradient([part], preset, whole_of(part))
    parts = [part.take([0]), part.take(list(range(1, 12)))]
    faulty = sum(gradient([one], preset, whole_of(one))[1] for one in parts) / len(parts)
    assert not same(faulty, want, 1e-2)  # type: ignore[arg-type]


def _rank(rank: int, port: int, name: str, ranks_averaged: bool, out: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    preset = PRESETS[name]
    part = near_old(window(preset, dtype=torch.float64), head(torch.float64))
    whole = whole_of(part)
    mine = [part.take([0, 1, 2]), part.take([3])] if rank == 0 else [part.take(list(range(4, 12)))]
    _, got = gradient(mine, preset, whole, ranks=2 if ranks_averaged else 1)
    dist.all_reduce(got)
    if ranks_averaged:
        got /= 2
    if rank == 0:
        torch.save(got, out)
    dist.destroy_process_group()


@pytest.mark.parametrize("name", PRESETS)
def test_a_split_over_two_ranks(name: str, tmp_path: Path) -> None:
    preset = PRESETS[name]
    part = near_old(window(preset, dtype=torch.float64), head(torch.float64))
    _, want = gradient([part], preset, whole_of(part))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.start_processes(_rank, args=(port, name, True, str(tmp_path / "g")), nprocs=2, start_method="fork")
    assert same(torch.load(tmp_path / "g"), want, 1e-6)


@pytest.mark.parametrize("name", PRESETS)
def test_padding_of_a_real_model_changes_nothing(name: str) -> None:
    """The same sequences alone, and in one batch padded on the right to twice their length."""
    preset = PRESETS[name]
    config = Qwen2Config(vocab_size=11, hidden_size=16, intermediate_size=32, num_hidden_layers=2)
    config.num_attention_heads = config.num_key_value_heads = 2
    model = Qwen2ForCausalLM(config).double()
    part = window(preset, dtype=torch.float64, groups=1)
    prompt = torch.tensor([1, 2, 3])

    def logp(index: int, width: int) -> torch.Tensor:
        mine = part.take([index])
        ids = torch.cat([prompt, mine.tokens])
        padded = torch.nn.functional.pad(ids, (0, width - len(ids)))
        mask = (torch.arange(width) < len(ids)).long()
        logits = model(input_ids=padded[None], attention_mask=mask[None]).logits[0]
        rows = torch.log_softmax(logits[len(prompt) - 1 : len(ids) - 1], -1)
        return rows.gather(-1, mine.tokens[:, None])[:, 0]

    grads = []
    for width in (None, 24):
        model.zero_grad()
        every = torch.cat([logp(i, width or 3 + int(part.lengths[i])) for i in range(4)])
        loss_of(every, inputs_of(part, preset, whole_of(part)), preset.loss)[0].backward()
        grads.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert same(grads[1], grads[0], 1e-6)


def test_the_order_of_sequences_changes_nothing() -> None:
    preset = PRESETS["gspo"]
    part = near_old(window(preset, dtype=torch.float64), head(torch.float64))
    _, want = gradient([part], preset, whole_of(part))
    _, got = gradient([part.take(list(reversed(range(12))))], preset, whole_of(part))
    assert same(got, want, 1e-9)


def test_the_windows_hold_clipped_and_free_tokens() -> None:
    preset = PRESETS["dapo"]
    part = near_old(window(preset, dtype=torch.float64), head(torch.float64))
    _, terms = loss_of(logp_of(part, head(torch.float64)), inputs_of(part, preset, whole_of(part)), preset.loss)
    assert 0.05 < terms.clipped.double().mean() < 0.9
