"""Tracking by the real libraries: what is logged, resuming, a tracker that is missing or fails."""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines
from assay.trainer_adapter.grpo.run.tracking import TensorBoard

from ._tiny import run_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the trackers' own code


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))


def train(paths: dict[str, str], out: Path, *overrides: str, resume: bool = False) -> list[dict[str, Any]]:
    Training(run_of(paths, *overrides), out, quiet=True, resume=resume).train()
    return read_lines(out / "metrics.jsonl")


def test_trackio_holds_every_step_and_a_resumed_run_is_the_same(
    paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trackio = pytest.importorskip("trackio")
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", tmp_path / "trackio")
    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", tmp_path / "trackio")
    out = tmp_path / "out"
    same = ["tracking.kind=['trackio']", "optimizer.schedule=constant"]
    train(paths, out, *same, "tracking.name='mine'", "steps=2")
    lines = train(paths, out, *same, "steps=4", resume=True)
    (run,) = trackio.Api().runs("assay")
    assert run.name == "mine"
    logged = [one for one in _trackio_logs(tmp_path / "trackio/assay.db") if "train/reward_mean" in one]
    assert [one["train/reward_mean"] for one in logged] == [line["reward_mean"] for line in lines]


def _trackio_logs(path: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(path) as db:
        return [json.loads(text) for (text,) in db.execute("SELECT metrics FROM metrics ORDER BY id")]


def test_wandb_holds_the_run(paths: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    train(paths, tmp_path, "tracking.kind=['wandb', 'tensorboard']", "steps=2")
    name = json.loads((tmp_path / "tracking.json").read_text())["name"]
    (file,) = tmp_path.glob(f"wandb/offline-run-*-{name}/run-{name}.wandb")
    assert b"train/reward_mean" in file.read_bytes() and list(tmp_path.glob("tensorboard/events*"))


@pytest.mark.parametrize("kind", ["trackio", "wandb"])
def test_a_tracker_that_is_not_installed_is_refused(
    kind: str, paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(ConfigurationError, match=rf"tracking\.kind: {kind} needs a package: pip install {kind}"):
        train(paths, tmp_path, f"tracking.kind=['{kind}']")


def test_a_tracker_that_fails_later_does_not_end_the_run(
    paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: object, figures: object, step: int) -> None:
        raise ConnectionError("the tracker is away")

    monkeypatch.setattr(TensorBoard, "log", fail)
    run = run_of(paths, "steps=3", "eval.every=0")
    Training(run, tmp_path).train()
    assert capsys.readouterr().err.count("tracking: tensorboard is left out from here on: ConnectionError") == 1
    assert len(read_lines(tmp_path / "metrics.jsonl")) == 3
