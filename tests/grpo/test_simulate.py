"""The simulator: times that can be computed by hand, the lag's bound, accounts, faults, and a run that was measured."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines
from assay.trainer_adapter.grpo.simulate.command import simulate
from assay.trainer_adapter.grpo.simulate.compare import KINDS, forecasts, variant
from assay.trainer_adapter.grpo.simulate.figures import figures_of
from assay.trainer_adapter.grpo.simulate.simulation import Forecast, Simulation

from ._tiny import run_of

FIGURES: dict[str, Any] = {
    "workers": 2, "slots": 8, "lengths": {"median": 100}, "verdict_s": {"median": 3.0}, "step_s": 0.1,
    "sequence_s": 0.0, "prefill_s": 0.0, "load_s": 0.0, "publish_s": 0.0, "update_s": 5.0,
    "update_token_s": 0.0, "zero_variance": 0.0,
}  # fmt: skip
HEAVY = {"lengths": {"median": 100, "sigma": 1.0, "max": 1600}}


def simulated(*, kind: str = "sync", steps: int = 10, regime: dict[str, Any] | None = None, **table: Any) -> Run:
    return Run.model_validate({
        "steps": steps, "model": {"path": "none"}, "data": {"train": "none"},
        "reward": {"verifier": "exact", "reference": {"gold": "{answer}"}},
        "rollout": {"prompts": 4, "group": 4, "max_tokens": 4096},
        "algorithm": {"name": "dapo", "dynamic_sampling": False},
        "regime": {"kind": kind, **(regime or {})},
        "simulate": {**FIGURES, **table},
    })  # fmt: skip


def forecast(run: Run) -> Forecast:
    return Simulation(run, figures_of(run, None)).run()


def test_sync_takes_the_seconds_that_its_parts_add_up_to() -> None:
    found = forecast(simulated())
    step_s = 99 * 0.1 + 3.0 + 5.0  # the prefill gives the first of 100 tokens
    assert found.seconds == pytest.approx(10 * step_s, rel=0.02)
    assert found.pool_busy == pytest.approx(99 * 0.1 / step_s, rel=0.02)
    assert found.trainer_busy == pytest.approx(5.0 / step_s, rel=0.02)
    assert found.data_lag_max == 0 and found.accounts == {"trained": 40}


def test_async_hides_verdicts_and_updates_behind_generation() -> None:
    found = forecast(simulated(kind="async", steps=40))
    assert found.seconds / 40 == pytest.approx(99 * 0.1, rel=0.05)
    assert found.data_lag_max == 1


def test_a_slot_refills_as_its_sequence_ends() -> None:
    """Groups of 4 on 4 slots, no verdict latency: the pool is never idle, so tokens a second are the slots' rate."""
    found = forecast(simulated(kind="fully_async", steps=20, workers=1, slots=16, update_s=0.0, **HEAVY))
    assert found.pool_busy > 0.9


def test_a_decode_step_takes_longer_the_more_sequences_run() -> None:
    one, four = (forecast(simulated(sequence_s=0.1, step_s=0.0, workers=workers)) for workers in (1, 4))
    assert one.seconds > 1.5 * four.seconds


@settings(deadline=None, max_examples=25)
@given(
    lag=st.integers(1, 4),
    in_flight=st.sampled_from(["finish", "swap", "abort"]),
    workers=st.integers(1, 5),
    sigma=st.sampled_from([0.0, 1.5]),
    failure_every_s=st.sampled_from([None, 60.0]),
    verdict_s=st.sampled_from([0.0, 20.0]),
)
def test_no_token_trains_beyond_the_lag_and_every_draw_is_counted_once(
    lag: int, in_flight: str, workers: int, sigma: float, failure_every_s: float | None, verdict_s: float
) -> None:
    run = simulated(
        kind="async", steps=12, regime={"lag": lag, "in_flight": in_flight}, workers=workers,
        lengths={"median": 50, "sigma": sigma, "max": 2000}, verdict_s={"median": verdict_s + 1e-3},
        failure_every_s=failure_every_s, restart_s=5.0,
    )  # fmt: skip
    simulation = Simulation(run, figures_of(run, None))
    found = simulation.run()
    assert found.data_lag_max <= lag
    assert found.accounts["trained"] == 12 * 4 and sum(found.accounts.values()) == simulation.buffer.next_number
    assert not any(name.startswith("dropped") for name in found.accounts)


def test_workers_that_fail_cost_time_and_no_group() -> None:
    calm, rough = (
        forecast(simulated(kind="async", failure_every_s=every, restart_s=30.0, **HEAVY)) for every in (None, 100.0)
    )
    assert rough.restarts > 0 and rough.seconds > calm.seconds
    assert rough.accounts["trained"] == calm.accounts["trained"] == 40


def test_an_outage_of_the_verdict_service_delays_and_drops_nothing() -> None:
    calm, late = (forecast(simulated(outages=outages)) for outages in ([], [(20.0, 60.0)]))
    assert 50 < late.seconds - calm.seconds < 75 and late.accounts == calm.accounts


def test_groups_without_variance_are_drawn_again_under_dynamic_sampling() -> None:
    table = simulated(zero_variance=0.5).model_dump() | {"algorithm": {"name": "dapo"}}
    found = forecast(Run.model_validate(table))
    assert found.accounts["dropped:zero_variance"] > 0 and found.accounts["trained"] <= 40


def test_pacing_trains_all_lengths_and_fully_async_shows_its_bias() -> None:
    fair, hasty = (forecast(simulated(kind=kind, steps=40, **HEAVY)) for kind in ("async", "fully_async"))
    assert fair.tokens[1] == pytest.approx(fair.tokens[0], rel=0.1)
    assert hasty.groups_per_s > fair.groups_per_s and hasty.tokens[1] < hasty.tokens[0]


def test_a_pool_of_many_workers_is_simulated_in_seconds() -> None:
    found = forecast(simulated(kind="async", steps=5, workers=512, **HEAVY))
    assert found.workers == 512 and found.accounts["trained"] == 20


# --- the command -----------------------------------------------------------------------------------


def test_the_three_regimes_keep_what_the_file_says_of_them() -> None:
    run = simulated(kind="async", regime={"lag": 3, "workers": 2, "in_flight": "finish"})
    lags = {kind: variant(run, kind, None).regime.lag for kind in KINDS}
    assert lags == {"sync": 0, "async": 3, "fully_async": 8}
    assert all(variant(run, kind, None).regime.in_flight == "finish" for kind in KINDS)
    assert variant(run, "sync", 7).simulate.workers == 7


def test_the_command_prints_a_table_and_writes_page_picture_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(TOML)
    simulate(str(path), workers="1,8", out=tmp_path / "out")
    printed = capsys.readouterr().out
    assert printed.count("fully_async") >= 2 and "workers keep the trainer busy" in printed
    figures = json.loads((tmp_path / "out/simulation.json").read_text())
    assert len(figures) == 6 and {one["kind"] for one in figures} == set(KINDS)
    assert (tmp_path / "out/simulation.png").read_bytes().startswith(b"\x89PNG")
    assert "data lag, greatest" in (tmp_path / "out/simulation.html").read_text()


TOML = """
steps = 60
[model]
path = "none"
[data]
train = "none"
[reward]
verifier = "exact"
reference = { gold = "{answer}" }
[rollout]
prompts = 4
group = 4
max_tokens = 400
[simulate]
slots = 4
lengths = { median = 100, sigma = 0.5 }
verdict_s = { median = 0.1 }
step_s = 0.01
sequence_s = 0.001
prefill_s = 0.01
load_s = 0.1
publish_s = 0.1
update_s = 3.0
update_token_s = 0.0
zero_variance = 0.2
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": "0"}, "--workers 0: numbers of 1 or more"),
        ({"workers": "many"}, "--workers many"),
        ({"regime": ["asink"]}, "--regime asink: not one of sync, async, fully_async"),
        ({"set_": ["simulate.outages=[[5, 0]]"]}, "simulate: .*outages are pairs"),
        ({"set_": ["simulate.steps=0"]}, r"simulate\.steps"),
        ({"measured": Path("/nowhere")}, "/nowhere/timings.json: No such file"),
    ],
)
def test_what_cannot_be_simulated_is_refused(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(TOML)
    with pytest.raises(ConfigurationError, match=message):
        simulate(str(path), **arguments)


def test_figures_that_are_missing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(TOML.replace("load_s = 0.1\n", "").replace("update_s = 3.0\n", ""))
    with pytest.raises(ConfigurationError, match=r"simulate\.load_s, simulate\.update_s: give them, or --measured"):
        simulate(str(path))


# --- calibration -----------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_a_measured_run_is_forecast(paths: dict[str, str], tmp_path: Path) -> None:
    """Loose, because other tests run beside it; `python -m bench.regimes` gives the figures on a quiet machine."""
    run = run_of(paths, "eval.every=0", "steps=30", "threads=1", "regime.kind=async", "regime.workers=1")
    Training(run, tmp_path, quiet=True).train()
    lines = read_lines(tmp_path / "metrics.jsonl")[5:]
    seen = sum(line["groups_trained"] for line in lines) / sum(line["step_s"] for line in lines)
    (found,) = forecasts(run, figures_of(run, tmp_path), ["async"], [None])
    later = found.steps[5:]
    said = sum(one.trained for one in later) / (found.seconds - found.steps[4].end_s)
    assert 0.2 < said / seen < 5
    assert found.data_lag_max == max(line["data_lag_max"] for line in lines) == 1
