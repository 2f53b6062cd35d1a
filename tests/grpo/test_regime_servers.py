"""Async regimes on generator servers: bounded lag, servers that fail and come back, requests that weights cut short."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.pool.base import PoolFailed
from assay.trainer_adapter.grpo.rollout.server_client import GeneratorRefused
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._server import Served
from ._tiny import run_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),  # peft 0.21 asks it
]


@pytest.fixture
def servers(paths: dict[str, str]) -> Iterator[list[Served]]:
    two = [Served(paths), Served(paths)]
    yield two
    for one in two:
        one.close()


def asked(paths: dict[str, str], servers: list[Served], *overrides: str) -> Run:
    urls = [one.url for one in servers]
    return run_of(
        paths, "generator.kind=sglang", "generator.sync=sglang_disk", f"generator.url={urls}", "regime.kind=async",
        "generator.batch=16", "eval.every=0", "steps=5", *overrides,
    )  # fmt: skip


def train(run: Run, out: Path) -> list[dict[str, Any]]:
    Training(run, out, quiet=True).train()
    return read_lines(out / "metrics.jsonl")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "in_flight", [["finish"], ["swap"], ["abort"], ["abort", "generator.piece_tokens=1"]], ids=" ".join
)
def test_two_servers_sample_within_the_lag_and_get_every_version(
    in_flight: list[str], servers: list[Served], paths: dict[str, str], tmp_path: Path
) -> None:
    got = train(asked(paths, servers, f"regime.in_flight={in_flight[0]!r}", *in_flight[1:]), tmp_path)
    assert len(got) == 5 and all(line["data_lag_max"] <= 1 and line["groups_trained"] == 8 for line in got)
    for one in servers:
        assert "/generate" in one.calls and "/update_weights_from_disk" in one.calls


@pytest.mark.timeout(300)
def test_a_server_that_fails_for_a_while_loses_no_group(
    servers: list[Served], paths: dict[str, str], tmp_path: Path
) -> None:
    servers[0].fail = 40
    got = train(asked(paths, servers), tmp_path)
    assert [line["groups_trained"] for line in got] == [8] * 5 and servers[0].fail < 40


@pytest.mark.timeout(300)
def test_a_server_that_came_back_gets_the_weights_before_it_samples_again(
    servers: list[Served], paths: dict[str, str], tmp_path: Path
) -> None:
    def fail_once() -> None:
        while servers[0].calls.count("/update_weights_from_disk") < 2:
            time.sleep(0.01)
        servers[0].fail = 6

    threading.Thread(target=fail_once, daemon=True).start()
    train(asked(paths, servers, "steps=8"), tmp_path)
    assert servers[0].fail == 0


@pytest.mark.timeout(300)
def test_weights_stay_until_a_slow_server_has_read_them(
    servers: list[Served], paths: dict[str, str], tmp_path: Path
) -> None:
    """One of two servers reads a version when the trainer has long published the next."""
    servers[0].load_s = 1.5
    train(asked(paths, servers, "steps=10", "regime.lag=4"), tmp_path)
    assert servers[0].calls.count("/update_weights_from_disk") > 1 and servers[0].missing == 0


@pytest.mark.timeout(120)
def test_no_server_that_answers_ends_the_run_with_one_line(
    servers: list[Served], paths: dict[str, str], tmp_path: Path
) -> None:
    for one in servers:
        one.close()
    with pytest.raises(PoolFailed, match=r"no generator server has answered since: .*ConnectError"):
        train(asked(paths, servers, "generator.timeout_s=3"), tmp_path)


@pytest.mark.timeout(120)
def test_a_refused_request_ends_the_run_at_once(servers: list[Served], paths: dict[str, str], tmp_path: Path) -> None:
    run = asked(paths, servers, "generator.kind=vllm", "generator.sync=vllm_lora", "model.lora={rank=2}")
    with pytest.raises(GeneratorRefused, match="load_lora_adapter: refused with status 404"):
        train(run, tmp_path)


def test_a_server_that_never_gets_weights_is_refused(servers: list[Served], paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"needs a generator\.sync"):
        asked(paths, servers, "generator.sync=none", "algorithm.correction=token_truncate")
