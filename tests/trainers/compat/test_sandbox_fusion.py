"""verl's own SandboxFusion client and scorer, and the client of PyPI, change a URL and nothing else."""

import json
import threading
from typing import Any

import pytest
from sandbox_fusion import RunCodeRequest, SubmitRequest, TestConfig, run_code, run_concurrent, submit
from verl.utils.reward_score import default_compute_score
from verl.utils.reward_score.sandbox_fusion.utils import call_sandbox_api

from .._service import Service

DOUBLE = "```python\nprint(2 * int(input()))\n```"
CASES = {"inputs": ["1\n", "21\n"], "outputs": ["2\n", "42\n"]}
BIG = 12345678901234567890123456789012


def verls(wires: Service, code: str, stdin: str = "", **more: Any) -> tuple[Any, Any]:
    return call_sandbox_api(f"{wires.http}/run_code", code, stdin, 10, 5, 1024, **more)


def test_verls_client_runs_a_program(wires: Service) -> None:
    told, fault = verls(wires, "print(input() * 2)", "ab")
    assert fault is None and told["status"] == "Success" and told["run_result"]["stdout"] == "abab\n"


def test_big_integers_pass_through_a_program(wires: Service) -> None:
    told, _ = verls(wires, "print(int(input()) + 1)", str(BIG))
    assert told["run_result"]["stdout"] == f"{BIG + 1}\n"


def test_verls_client_is_told_of_a_failure(wires: Service) -> None:
    told, fault = verls(wires, "raise SystemExit(3)")
    assert fault is None and (told["status"], told["run_result"]["return_code"]) == ("Failed", 3)


@pytest.mark.parametrize(("code", "score"), [(DOUBLE, 1.0), ("```python\nprint(2)\n```", 0.5), ("no code", 0.0)])
def test_verls_own_scorer_pays_what_passes(wires: Service, code: str, score: float) -> None:
    told = default_compute_score(
        "codecontests",
        code,
        json.dumps(CASES),
        sandbox_fusion_url=f"{wires.http}/run_code",
        concurrent_semaphore=threading.Semaphore(4),
        memory_limit_mb=1024,
    )
    assert (told if isinstance(told, float) else told[0]) == score


def test_pypis_client_runs_and_submits(wires: Service) -> None:
    ran = run_code(RunCodeRequest(code="print(6 * 7)", language="python"), endpoint=wires.http)
    assert ran.status.value == "Success" and ran.run_result.stdout == "42\n"
    tests = [{"input": {"stdin": stdin}, "output": {"stdout": out}} for stdin, out in zip(*CASES.values(), strict=True)]
    config = TestConfig(
        dataset_type="CommonOJDataset", language="python", run_timeout=5, provided_data={"id": 1, "test": tests}
    )
    for completion, accepted in ((DOUBLE, True), ("```python\nprint(2)\n```", False)):
        told = submit(SubmitRequest(dataset="mine", id=1, completion=completion, config=config), endpoint=wires.http)
        assert told.accepted is accepted and len(told.tests) == 2


def test_pypis_client_many_at_once(wires: Service) -> None:
    requests = [{"request": RunCodeRequest(code=f"print({n})", language="python")} for n in range(32)]
    told = run_concurrent(run_code, args=[[]] * 32, kwargs=[{**one, "endpoint": wires.http} for one in requests])
    assert [one.run_result.stdout for one in told] == [f"{n}\n" for n in range(32)]


def test_without_a_sandbox_verls_client_tries_again_and_gets_no_result(service_without: Service) -> None:
    told, fault = verls(service_without, "print(1)")
    assert told is None and "504" in fault


@pytest.fixture(scope="module")
def service_without() -> Any:
    """The wire is on, and no sandbox is there."""
    one = Service(WIRES='{"sandbox_fusion": {}}')
    yield one
    one.kill()
