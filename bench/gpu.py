"""The GRPO kernels on a GPU: correctness first, then times as ratios to peers in the same run. Under 6 minutes.

    .venv-train/bin/python -m bench.gpu              on a machine with a CUDA GPU
    .venv-train/bin/python -m bench.gpu --rehearse   every path once, tiny, on any machine; no time is printed

Correctness: each loss against fp64 torch, with logits given and fused with the head. Then, with logits given: forward,
backward and both, next to TRL's kernel, Liger's `grpo_loss`, torch.compile of the reference, and a copy that moves as
many bytes as `both` must (4 B per element of bf16). Then the fused head over vocabularies and live shares, next to
TRL's
`chunked_logprob` and the matrix products alone. A wrong result ends the run before anything is timed; what does not fit
into memory or into the time limit is skipped and reported.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

REHEARSE = "--rehearse" in sys.argv
if REHEARSE:
    os.environ.setdefault("TRITON_INTERPRET", "1")

import torch  # noqa: E402

from assay.trainer_adapter.grpo.kernels import logits as kernel  # noqa: E402
from assay.trainer_adapter.grpo.kernels.inplace import in_place_loss  # noqa: E402
from assay.trainer_adapter.grpo.kernels.linear import fused_loss  # noqa: E402
from assay.trainer_adapter.grpo.objective.backend import token_logp  # noqa: E402
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, loss_of  # noqa: E402
from assay.trainer_adapter.grpo.objective.presets import PRESETS  # noqa: E402
from assay.trainer_adapter.grpo.objective.segments import offsets_of  # noqa: E402

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
LIMIT_S = 330.0
VOCABULARIES = (70,) if REHEARSE else (32_000, 128_256, 151_936, 262_144)
ROWS = (8,) if REHEARSE else (2048, 8192)
WIDTH = 16 if REHEARSE else 4096
SHARES = (1.0, 0.5) if REHEARSE else (1.0, 0.5, 0.25)
REPEATS = 1 if REHEARSE else 15
DAPO = PRESETS["dapo"].loss
START = time.monotonic()


@dataclass(frozen=True)
class Case:
    """Logits, tokens and inputs: sequences of equal length, of which the share `live` has an advantage."""

    logits: torch.Tensor
    tokens: torch.Tensor
    inputs: LossInputs


def case(count: int, vocab: int, *, live: float = 1.0, length: int = 4, dtype: torch.dtype = torch.bfloat16) -> Case:
    torch.manual_seed(0)
    logits = torch.randn(count, vocab, device=DEVICE, dtype=dtype) * 2
    tokens = torch.randint(0, vocab, (count,), device=DEVICE)
    sequences = count // length
    a = torch.where(
        torch.arange(sequences, device=DEVICE) < live * sequences, torch.randn(sequences, device=DEVICE), 0.0
    )
    ones = torch.full((count,), 1.0 / count, device=DEVICE)
    logp = torch.cat(
        [
            token_logp(part, some, temperature=1.0)[0]
            for part, some in zip(logits.split(512), tokens.split(512), strict=True)
        ]
    )
    old = logp + 0.1 * torch.randn_like(logp)
    offsets = offsets_of(torch.full((sequences,), length, device=DEVICE))
    return Case(logits, tokens, LossInputs(offsets, old, a.repeat_interleave(length), ones, ones * 0))


# --- correctness -----------------------------------------------------------------------------------


def check() -> None:
    """Check every algorithm, with logits given and fused, against fp64; a fault ends the run."""
    vocab, width = (70, 16) if REHEARSE else (32_007, 256)
    for name, preset in PRESETS.items():
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 2e-2)):
            one = case(16, vocab, live=0.75, dtype=dtype)
            inputs = replace(one.inputs, ref=one.inputs.old - 0.1, w_kl=one.inputs.w_pg * 0.1)
            want, right = _fp64(one.logits.double(), one.tokens, inputs, preset.loss)
            z = one.logits.clone().requires_grad_()
            loss, _ = in_place_loss(z * 1, one.tokens, inputs, preset.loss, temperature=0.9)
            loss.backward()
            _same(f"{name} {dtype} logits", loss, want, z.grad, right, tolerance)
        hidden = torch.randn(16, width, device=DEVICE)
        weight = torch.randn(vocab, width, device=DEVICE) / width**0.5
        h, w = hidden.double().requires_grad_(), weight.double().requires_grad_()
        want = loss_of(token_logp(h @ w.t(), one.tokens, temperature=0.9)[0], _wide(inputs), preset.loss)[0]
        want.backward()
        h32, w32 = hidden.requires_grad_(), weight.requires_grad_()
        loss, _ = fused_loss(h32, w32, one.tokens, inputs, preset.loss, temperature=0.9, chunk=8)
        loss.backward()
        _same(f"{name} fused", loss, want, h32.grad, h.grad, 5e-3)
        _same(f"{name} fused", loss, want, w32.grad, w.grad, 5e-3)
    print(f"correct: {len(PRESETS)} algorithms x logits fp32, bf16, fused head, against fp64", flush=True)


def _wide(inputs: LossInputs) -> LossInputs:
    return replace(
        inputs, **{n: v.double() for n, v in vars(inputs).items() if v is not None and v.is_floating_point()}
    )


def _fp64(logits: torch.Tensor, tokens: torch.Tensor, inputs: LossInputs, spec: LossSpec) -> tuple[torch.Tensor, Any]:
    z = logits.requires_grad_()
    loss = loss_of(token_logp(z, tokens, temperature=0.9)[0], _wide(inputs), spec)[0]
    loss.backward()
    return loss, z.grad


def _same(name: str, loss: torch.Tensor, want: torch.Tensor, got: Any, right: Any, tolerance: float) -> None:
    loss, want = loss.detach(), want.detach()
    off = float((got.double() - right).norm() / right.norm().clamp(min=1e-12))
    if abs(float(loss) - float(want)) > 1e-3 * max(1.0, abs(float(want))) or off > tolerance:
        sys.exit(f"WRONG: {name}: loss {float(loss)} for {float(want)}, gradient off by {off:.2e}; no time is taken")


# --- times -----------------------------------------------------------------------------------------


def milliseconds(work: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> float:
    """Return the median over repeats by CUDA events; `before` runs outside the timing, and the L2 cache is cleared."""
    flush = torch.empty(1 if REHEARSE else 64 * 2**20, dtype=torch.float32, device=DEVICE)
    times = []
    for repeat in range(REPEATS + (0 if REHEARSE else 3)):
        before()
        flush.zero_()
        if not CUDA:
            work()
            return 1.0
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if repeat >= 3:
            times.append(start.elapsed_time(end))
    return statistics.median(times)


def late() -> bool:
    return time.monotonic() - START > LIMIT_S


def attempt(name: str, work: Callable[[], float]) -> float | None:
    """Return the time of a peer, or None if it is not installed or does not fit."""
    try:
        return work()
    except (ImportError, torch.OutOfMemoryError, RuntimeError, NotImplementedError) as error:
        print(f"    {name}: left out ({type(error).__name__}: {str(error)[:80]})", flush=True)
        return None


def line(label: str, assay: float, peers: dict[str, float | None]) -> None:
    """Print Assay's time in ms, and its ratio to each peer's: below 1 is faster."""
    if REHEARSE:
        print(f"  {label}: ran, beside {', '.join(peers)}", flush=True)
        return
    ratios = "  ".join(f"{assay / peer:.2f} x {name}" for name, peer in peers.items() if peer)
    print(f"  {label:<34}{assay:8.3f} ms   {ratios}", flush=True)


def given_logits(count: int, vocab: int) -> None:
    """Time forward, backward and both, with logits given, all tokens with a gradient."""
    one = case(count, vocab)
    source, buffer = one.logits, one.logits.clone()

    def reset() -> None:
        buffer.copy_(source)

    stats = kernel.forward(source, one.tokens, temperature=1.0)
    slope = torch.full_like(stats.logp, 1e-4)
    copy = milliseconds(lambda: buffer.copy_(source))
    read = milliseconds(lambda: source.sum())
    forward = milliseconds(lambda: kernel.forward(source, one.tokens, temperature=1.0))
    backward = milliseconds(lambda: kernel.backward_(buffer, one.tokens, stats.lse, slope, temperature=1.0), reset)
    both = milliseconds(lambda: kernel.both_(buffer, one.tokens, one.inputs, DAPO, temperature=1.0), reset)
    line(f"forward {count} x {vocab}", forward, {"one read": read, "TRL": attempt("TRL", lambda: trl(one, "forward"))})
    line(f"backward {count} x {vocab}", backward, {"copy": copy, "TRL": attempt("TRL", lambda: trl(one, "backward"))})
    peers = {
        "copy": copy,
        "TRL": attempt("TRL", lambda: trl(one, "both")),
        "Liger": attempt("Liger", lambda: liger(one)),
        "torch.compile": None if REHEARSE else attempt("torch.compile", lambda: compiled(one)),
    }
    line(f"both {count} x {vocab}", both, peers)
    if not REHEARSE:
        print(f"    both moves at least {4e-6 * count * vocab / both:.0f} GB/s by its own count", flush=True)
    for share in SHARES[1:]:
        part = case(count, vocab, live=share)
        mine = milliseconds(
            lambda part=part: kernel.both_(buffer, part.tokens, part.inputs, DAPO, temperature=1.0), reset
        )  # type: ignore[misc]
        line(f"both, {share:.0%} of sequences live", mine, {"all live": both})


def trl(one: Case, part: str) -> float:
    """Return the time of TRL's one-pass kernel with its torch loss."""
    from trl.kernels.logprob_entropy import selective_log_softmax_and_entropy

    z = one.logits.detach().requires_grad_()

    def forward() -> torch.Tensor:
        logp = selective_log_softmax_and_entropy(z[None], one.tokens[None])[0][0]
        return loss_of(logp, one.inputs, DAPO)[0]

    if part == "forward":
        return milliseconds(forward)
    if part == "backward":
        held: list[torch.Tensor] = []
        return milliseconds(lambda: held.pop().backward(), lambda: held.append(forward()))
    return milliseconds(lambda: forward().backward())


def liger(one: Case) -> float:
    """Return the time of Liger's Triton loss, which takes one more position than there are tokens."""
    from liger_kernel.ops.grpo_loss import GrpoLossFunction

    sequences, length = one.inputs.offsets.numel() - 1, 4
    vocab = one.logits.shape[1]
    padded = torch.zeros(sequences, length + 1, vocab, device=DEVICE, dtype=one.logits.dtype)
    padded[:, :length] = one.logits.view(sequences, length, vocab)
    tokens, old = one.tokens.view(sequences, length), one.inputs.old
    assert old is not None
    a = one.inputs.advantages.view(sequences, length)[:, 0].contiguous()
    z = padded.requires_grad_()

    def both() -> None:
        out = GrpoLossFunction.apply(
            z,
            old.view(sequences, length),
            None,
            tokens,
            a,
            torch.ones_like(tokens),
            1.0,
            0.0,
            0.2,
            0.28,
            False,
            "dapo",
            length,
            True,
            "token",
            1.0,
            1.05,
            None,
            None,
            False,
            None,
            None,
        )
        out[0].backward()
        z.grad = None

    return milliseconds(both)


def compiled(one: Case) -> float:
    """Return the time of torch.compile of the reference."""
    z = one.logits.detach().requires_grad_()

    @torch.compile
    def loss(z: torch.Tensor) -> torch.Tensor:
        logp = torch.log_softmax(z.float(), -1).gather(-1, one.tokens[:, None])[:, 0]
        return loss_of(logp, one.inputs, DAPO)[0]

    def both() -> None:
        loss(z).backward()
        z.grad = None

    both()
    return milliseconds(both)


def fused(count: int, vocab: int, share: float) -> None:
    """Time the head and the loss together, forward and backward."""
    one = case(count, vocab, live=share)
    inputs, tokens = one.inputs, one.tokens
    del one
    h = torch.randn(count, WIDTH, device=DEVICE, dtype=torch.bfloat16).requires_grad_()
    w = (torch.randn(vocab, WIDTH, device=DEVICE, dtype=torch.bfloat16) / WIDTH**0.5).requires_grad_()

    def run_assay() -> None:
        fused_loss(h, w, tokens, inputs, DAPO, temperature=1.0)[0].backward()
        h.grad = w.grad = None

    def run_trl() -> None:
        from trl.kernels.chunked_logprob import ChunkedLogProbFunction

        logp = ChunkedLogProbFunction.apply(h, w, None, tokens, 1.0, 32768, None, 1.0, ("entropy",))[0]
        loss_of(logp, inputs, DAPO)[0].backward()
        h.grad = w.grad = None

    def products() -> None:
        with torch.no_grad():
            for start in range(0, count, 4096):
                part = h[start : start + 4096]
                z = part @ w.t()
                _ = z @ w, z.t() @ part

    peers = {"three products": milliseconds(products), "TRL": attempt("TRL", lambda: milliseconds(run_trl))}
    line(f"fused {count} x {WIDTH} x {vocab}, {share:.0%} live", milliseconds(run_assay), peers)


def main() -> int:
    if not CUDA and not REHEARSE:
        print("no CUDA GPU here: nothing is measured (--rehearse runs every path once, without times)")
        return 2
    if CUDA:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    check()
    work: list[tuple[str, Callable[[], None]]] = []
    for vocab in VOCABULARIES:
        for count in ROWS:
            work.append((f"logits {count} x {vocab}", lambda c=count, v=vocab: given_logits(c, v)))  # type: ignore[misc]
            work += [
                (f"fused {count} x {vocab} {s}", lambda c=count, v=vocab, s=s: fused(c, v, s))
                for s in SHARES  # type: ignore[misc]
            ]
    work.sort(key=lambda one: "151936" not in one[0])
    for name, run in work:
        if late():
            print(f"  {name}: left out, out of time", flush=True)
            continue
        try:
            run()
        except torch.OutOfMemoryError:
            print(f"  {name}: left out, out of memory", flush=True)
        if CUDA:
            torch.cuda.empty_cache()
    print(f"done in {time.monotonic() - START:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
