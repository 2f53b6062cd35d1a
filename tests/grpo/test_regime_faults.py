"""Faults of a run: processes killed at random, a worker that hangs, a service that is away, a disk that is full."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.buffer import Buffer, Pacing
from assay.trainer_adapter.grpo.pool import processes
from assay.trainer_adapter.grpo.regime.rollouts import FILE
from assay.trainer_adapter.grpo.run.checkpoint import list_all
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.identity import fingerprint
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import run_of

KILLS = int(os.environ.get("ASSAY_KILLS", "4"))
"""Kills in one run: 20 in `make soak`."""


def toml_of(run: Run) -> str:
    """Return a run as a file."""
    table = run.model_dump(mode="json", exclude={"prepare"})
    return "".join(f"{name} = {_toml(value)}\n" for name, value in table.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items() if one is not None) + "}"
    return json.dumps(value)


class Trained:
    """`assay train FILE --out OUT --resume` in a process of its own."""

    def __init__(self, file: Path, out: Path) -> None:
        self.out = out
        self._log = file.with_name(f"{out.name}.log")
        with self._log.open("a") as log:
            self.process = psutil.Popen(
                [sys.executable, "-m", "assay", "train", str(file), "--out", str(out), "--resume", "--quiet"],
                stderr=log, stdout=log, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip

    @property
    def progress(self) -> int:
        return len(read_lines(self.out / "metrics.jsonl"))

    def workers(self) -> list[psutil.Process]:
        return self._children("pool.worker")

    def engine(self) -> list[psutil.Process]:
        """The processes of the embedded engine and its sandbox."""
        return [one for one in self._children("") if one not in self.workers()]

    def _children(self, part: str) -> list[psutil.Process]:
        found = []
        for one in self.process.children(recursive=True):
            try:
                if part in " ".join(one.cmdline()):
                    found.append(one)
            except psutil.Error:
                continue
        return found

    @property
    def log(self) -> str:
        return self._log.read_text()


def kill(found: list[psutil.Process]) -> bool:
    for one in found[:1]:
        try:
            one.kill()
            return True
        except psutil.Error:
            continue
    return False


def disturbed(file: Path, out: Path, *, kills: int, seed: int) -> Mapping[str, int]:
    """Train to the end, killing processes of a random kind at random times; return how many of each kind."""
    dice, count = random.Random(seed), {"trainer": 0, "worker": 0, "engine": 0}
    trained = Trained(file, out)
    while True:
        seen, wait_until = trained.progress, time.monotonic() + dice.uniform(0.2, 3.0)
        while trained.process.poll() is None and (trained.progress == seen or time.monotonic() < wait_until):
            time.sleep(0.05)
        if trained.process.poll() is not None:
            assert trained.process.returncode == 0, trained.log[-2000:]
            return count
        if sum(count.values()) >= kills:
            continue
        kind = min(count, key=lambda name: (count[name], dice.random()))
        if kind == "trainer":
            trained.process.kill()
            trained.process.wait()
            count[kind] += 1
            trained = Trained(file, out)
        else:
            count[kind] += kill(trained.workers() if kind == "worker" else trained.engine())


def weights(out: Path) -> str:
    newest = list_all(out)[-1]
    digest = hashlib.sha256()
    for path in sorted(newest.rglob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def accounts(run: Run, out: Path) -> dict[str, int]:
    buffer = Buffer(
        out / FILE, pacing=Pacing(batch=run.rollout.prompts, lag=run.regime.lag), fingerprint=fingerprint(run)
    )
    found = buffer.accounts()
    assert sum(found.values()) == buffer.next_number, "each draw has one end"
    for step in range(1, run.steps + 1):
        assert len(buffer.trained_in(step)) == run.rollout.prompts
    buffer.close()
    return found


LONG = ["eval.every=0", "steps=24", "checkpoint.every=4", "threads=1", "regime.workers=1"]


@pytest.mark.timeout(1800)
def test_killed_at_random_a_sync_run_ends_with_the_weights_of_an_undisturbed_one(
    paths: dict[str, str], tmp_path: Path
) -> None:
    run = run_of(paths, *LONG)
    (tmp_path / "run.toml").write_text(toml_of(run))
    calm = Trained(tmp_path / "run.toml", tmp_path / "calm")
    assert calm.process.wait() == 0, calm.log[-2000:]
    count = disturbed(tmp_path / "run.toml", tmp_path / "rough", kills=KILLS, seed=KILLS)
    print(f"kills: {count}")
    assert min(count.values()) >= 1
    assert weights(tmp_path / "rough") == weights(tmp_path / "calm")
    assert accounts(run, tmp_path / "rough") == {"trained": 192}


@pytest.mark.timeout(1800)
def test_killed_at_random_an_async_run_loses_and_repeats_no_group(paths: dict[str, str], tmp_path: Path) -> None:
    steps = 8 * KILLS
    run = run_of(paths, *LONG, "regime.kind=async", "regime.lag=2", f"steps={steps}")
    (tmp_path / "run.toml").write_text(toml_of(run))
    count = disturbed(tmp_path / "run.toml", tmp_path / "out", kills=KILLS, seed=1)
    print(f"kills: {count}")
    assert min(count.values()) >= 1
    lines = read_lines(tmp_path / "out/metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(1, steps + 1))
    assert all(line["data_lag_max"] <= 2 and line["groups_trained"] == 8 for line in lines)
    found = accounts(run, tmp_path / "out")
    assert found["trained"] == 8 * steps and set(found) <= {"trained", "returned"}


@pytest.mark.timeout(600)
def test_a_worker_that_hangs_is_replaced(
    paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(paths, "eval.every=0", "steps=30", "threads=1", "regime.kind=async", "regime.workers=1")
    training = Training(run, tmp_path, quiet=True)
    pool: Any = training.rollouts.pool
    original = training.rollouts.publish
    hung: list[int] = []

    def publish(step: int) -> None:
        original(step)
        if step == 3:
            monkeypatch.setattr(processes, "SILENCE_S", 15.0)
            hung.extend(pool.processes)
            os.kill(hung[0], signal.SIGSTOP)

    monkeypatch.setattr(training.rollouts, "publish", publish)
    training.train()
    assert pool.restarts >= 1 and not psutil.pid_exists(hung[0])
    assert [line["step"] for line in read_lines(tmp_path / "metrics.jsonl")] == list(range(1, 31))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_full_disk_ends_the_run_with_one_clear_line(
    kind: str, paths: dict[str, str], tmp_path: Path, small_disk: Path
) -> None:
    run = run_of(paths, *LONG, f"regime.kind={kind}", "steps=4000", "tracking.kind=[]")
    (tmp_path / "run.toml").write_text(toml_of(run))
    out = small_disk / "run"
    trained = Trained(tmp_path / "run.toml", out)
    while trained.progress < 3 and trained.process.poll() is None:
        time.sleep(0.1)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"0" * 4096)
        except OSError:
            pass
    assert trained.process.wait(timeout=200) in (2, 3)
    assert "Traceback" not in trained.log, trained.log[-3000:]
    (said,) = [line for line in trained.log.splitlines() if line.startswith("assay: ")]
    assert "full" in said or "No space" in said, said
