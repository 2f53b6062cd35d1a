"""The regimes of the training loop beside each other, and the simulator beside the loop.

    .venv-train/bin/python -m bench regimes

A tiny model learns sums behind a run of filler whose length it samples, so that completions have a heavy tail (cut off
at 16 times the median); verdicts come from a real service through a proxy that delays them. Every regime trains the
same number of steps from the same model, on both cores. Then the simulator takes its figures from one run, and
forecasts others.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench._servers import server
from bench._table import show

SEEDS, STEPS = (0, 1, 2), 150
MEDIAN, LONGEST = 8, 128
VERDICT_S, SIGMA = 0.3, 0.6
LIMIT = 20
Lines = list[dict[str, Any]]
KINDS: Mapping[str, dict[str, Any]] = {
    "sync": {"kind": "sync"},
    "async": {"kind": "async", "lag": 2},
    "fully_async": {"kind": "fully_async", "lag": 4},
}


def prepare(folder: Path, seed: int) -> None:
    """Write model, rows and held-out rows: `07+12=` is answered by `----…=19`, with a geometric number of dashes."""
    from assay.trainer_adapter.grpo.run import tiny

    words = tiny.tokenizer()
    train, held = tiny.sums(LIMIT, held_out=96, seed=seed)
    dice = random.Random(seed)
    stop = 1 - 0.5 ** (1 / MEDIAN)
    shown = [
        {**row, "answer": "-" * min(LONGEST - 4, _geometric(dice, stop)) + "=" + row["answer"]}
        for row in train
        for _ in range(8)
    ]
    small = tiny.model(words, width=64, layers=2, seed=seed)
    tiny.warm_start(small, words, shown, steps=220, batch=128, lr=2e-3, seed=seed)
    small.save_pretrained(folder / "base")
    words.save_pretrained(folder / "base")
    tiny.write_rows(folder / "train.jsonl", train)
    tiny.write_rows(folder / "held_out.jsonl", held)


def _geometric(dice: random.Random, stop: float) -> int:
    count = 0
    while dice.random() > stop:
        count += 1
    return count


def run_of(folder: Path, url: str, seed: int, steps: int, regime: dict[str, Any], **rollout: Any) -> Any:
    """Return the configuration of a run."""
    from assay.trainer_adapter.grpo.run.config import Run

    return Run.model_validate({
        "name": regime["kind"], "seed": seed, "steps": steps, "threads": 2 if regime["kind"] == "sync" else 1,
        "model": {"path": str(folder / "base"), "device": "cpu"},
        "data": {"train": str(folder / "train.jsonl"), "eval": str(folder / "held_out.jsonl"),
                 "prompt": "{question}", "chat": False},
        "reward": {"url": url, "verifier": "exact",
                   "reference": {"mode": "number", "gold": "{answer}", "extract": "pattern", "pattern": "=([0-9]+)$"}},
        "rollout": {"prompts": 32, "group": 8, "max_tokens": LONGEST, **rollout},
        "generator": {"batch": 256}, "regime": regime,
        "algorithm": {"name": "dapo", "dynamic_sampling": False, "correction": "token_truncate"},
        "optimizer": {"lr": 5e-4, "warmup_steps": 10, "micro_tokens": 1024},
        "eval": {"every": steps, "rows": 96, "samples": 4, "k": [1]}, "checkpoint": {"every": 0},
    })  # fmt: skip


def trained(run: Any, out: Path) -> tuple[Lines, Lines]:
    """Train; return the lines of the steps and of the evaluations."""
    from assay.trainer_adapter.grpo.run.loop import Training
    from assay.trainer_adapter.grpo.run.records import read_lines

    Training(run, out, quiet=True).train()
    return read_lines(out / "metrics.jsonl"), read_lines(out / "evals.jsonl")


def figures(lines: Lines) -> dict[str, float]:
    """Return throughput and lags of the steps after the first two, which wait for a cold engine and pool."""
    lines = lines[2:]
    lags = [line["data_lag_mean"] for line in lines if line["data_lag_mean"] is not None]
    return {
        "groups_per_s": sum(line["groups_trained"] for line in lines) / sum(line["step_s"] for line in lines),
        "lag_mean": statistics.fmean(lags),
        "lag_max": max(line["data_lag_max"] or 0 for line in lines),
        "publication_lag": statistics.fmean(line["publication_lag"] for line in lines),
        "length": statistics.fmean(line["length_mean"] for line in lines if line["length_mean"]),
    }


@contextmanager
def slow_service() -> Iterator[str]:
    """Yield the URL of a service whose verdicts are delayed."""
    with (
        server("-m", "assay", "serve", "--port", "{port}", health="/readyz") as (behind, _),
        server("-m", "bench._slow_verdicts", "{port}", behind, str(VERDICT_S), str(SIGMA), health="/readyz") as (
            url,
            _,
        ),
    ):
        yield url


def compare(folder: Path, url: str, seeds: tuple[int, ...], steps: int) -> None:
    """Print throughput, lags and held-out pass@1 of the three regimes."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for seed in seeds:
        prepare(folder / str(seed), seed)
        for kind, regime in KINDS.items():
            run = run_of(folder / str(seed), url, seed, steps, regime)
            lines, evals = trained(run, folder / f"{kind}-{seed}")
            found[kind].append(figures(lines) | {"before": evals[0]["pass@1"], "after": evals[-1]["pass@1"]})
            print(json.dumps({"kind": kind, "seed": seed, **found[kind][-1]}), flush=True)
    base = statistics.fmean(one["groups_per_s"] for one in found["sync"])
    rows = []
    for kind, runs in found.items():
        speed, after = ([one[name] for one in runs] for name in ("groups_per_s", "after"))
        error = statistics.stdev(after) / len(after) ** 0.5 if len(after) > 1 else 0.0
        rows.append([
            kind, statistics.fmean(speed), statistics.fmean(speed) / base, _mean(runs, "lag_mean"),
            int(max(one["lag_max"] for one in runs)), _mean(runs, "publication_lag"), _mean(runs, "length"),
            _mean(runs, "before"),
            f"{statistics.fmean(after):.3f} ± {error:.3f}",
        ])  # fmt: skip
    show(["regime", "groups/s", "times sync", "lag mean", "lag max", "publication lag", "tokens", "pass@1 before",
          "pass@1 after, ± standard error"], rows)  # fmt: skip


def _mean(runs: list[dict[str, float]], name: str) -> float:
    return statistics.fmean(one[name] for one in runs)


CASES: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "async, lag 1 (measured)": ({"kind": "async", "lag": 1}, {}),
    "sync, one worker": ({"kind": "sync", "workers": 1}, {}),
    "async, lag 3, batches of half": ({"kind": "async", "lag": 3}, {"prompts": 16}),
    "fully_async, groups of 4": ({"kind": "fully_async", "lag": 8}, {"group": 4}),
}


def forecast(folder: Path, url: str, steps: int) -> None:
    """Print what the simulator says of each case, with the figures of the first, and what a run does."""
    from assay.trainer_adapter.grpo.simulate.figures import figures_of
    from assay.trainer_adapter.grpo.simulate.simulation import Simulation

    prepare(folder / "cases", 0)
    measured, rows = folder / "case-0", []
    for place, (name, (regime, rollout)) in enumerate(CASES.items()):
        run = run_of(folder / "cases", url, 0, steps, regime, **rollout)
        settings = {"optimizer": {"lr": 1e-9}, "eval": {"every": 0}}  # the lengths stay as they were measured
        parts = {name: getattr(run, name).model_copy(update=more) for name, more in settings.items()}
        run = run.model_copy(update={"threads": 1, **parts})
        lines, _ = trained(run, folder / f"case-{place}")
        seen = figures(lines)
        start = time.monotonic()
        found = Simulation(run, figures_of(run, measured)).run()
        print(f"{name}: simulated in {time.monotonic() - start:.1f} s", flush=True)
        later = found.steps[2:]
        said = sum(one.trained for one in later) / (found.seconds - found.steps[1].end_s)
        lag = statistics.fmean(one.data_lag_mean for one in later)
        rows.append([
            name, seen["groups_per_s"], said, f"{said / seen['groups_per_s'] - 1:+.0%}", seen["lag_mean"], lag,
            f"{lag / seen['lag_mean'] - 1:+.0%}" if seen["lag_mean"] else "both 0", found.data_lag_max,
        ])  # fmt: skip
    show(["case", "groups/s", "forecast", "off", "lag mean", "forecast", "off", "lag max, forecast"], rows)


def main(seeds: tuple[int, ...] = SEEDS, steps: int = STEPS) -> None:
    """Run both parts."""
    with tempfile.TemporaryDirectory() as name, slow_service() as url:
        forecast(Path(name), url, 60)
        compare(Path(name), url, seeds, steps)
