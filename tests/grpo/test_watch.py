"""What a person sees while a run goes on."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines
from assay.trainer_adapter.grpo.run.watch import SHOWN, Watch

from ._tiny import run_of


@pytest.fixture(scope="module")
def line(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    out = tmp_path_factory.mktemp("watched")
    Training(run_of(paths, "steps=1", "eval.every=0"), out, quiet=True).train()
    (one,) = read_lines(out / "metrics.jsonl")
    return one


def test_the_table_shows_every_figure(line: dict[str, float]) -> None:
    watch, screen = Watch(steps=1, name="mine", quiet=True), io.StringIO()
    watch.evaluation({"step": 1, "pass@1": 0.5})
    watch.note("ALARM \x1b[31m")
    Console(file=screen, width=100).print(watch._table({**line, "ungraded": 0.0}))
    shown = screen.getvalue()
    assert all(label in shown for label, _, _ in SHOWN) and "mine: step 1 of 1" in shown
    assert "pass@1 0.500" in shown and "\x1b" not in shown


def test_elsewhere_it_is_lines_and_the_last_step_is_one(
    line: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    watch = Watch(steps=1, name="mine")
    watch.step(line)
    watch.note("something")
    watch.close()
    assert "step 1/1 reward" in capsys.readouterr().err


def test_what_is_unknown_is_said_to_be(line: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    watch, screen = Watch(steps=1, name="mine"), io.StringIO()
    nothing = {name: None if isinstance(value, float) else value for name, value in line.items()}
    watch.step(nothing)
    watch.evaluation({"step": 1, "pass@1": None})
    Console(file=screen, width=100).print(watch._table({**nothing, "ungraded": None}))
    assert "reward unknown" in capsys.readouterr().err and "pass@1 unknown" in screen.getvalue()


def test_quiet_is_quiet(line: dict[str, float], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    watch = Watch(steps=1, name="mine", quiet=True)
    watch.step(line)
    watch.note("something")
    assert capsys.readouterr() == ("", "")
