"""SandboxFusion's requests: a program's faults are 200, a retryable state is 504, and nothing runs outside the
sandbox.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from assay.sandbox import Settings as Sandbox
from assay.sandbox import Supervisor, Unavailable
from assay.service.http.app import create_app
from assay.service.settings import Settings

from .conftest import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
WIRES: dict[str, Any] = {"sandbox_fusion": {}}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def fusion() -> AsyncIterator[httpx.AsyncClient]:
    """The service with a real sandbox; skipped with the reason if none works."""
    try:
        Supervisor.start(Sandbox(slots=1)).close()
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    app = create_app(Settings(lanes=1, sandbox_slots=1, warm=(), wires=WIRES))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


def payload(code: str, **fields: Any) -> dict[str, Any]:
    """Return the request of verl's client."""
    return {
        "compile_timeout": 10,
        "run_timeout": 10,
        "code": code,
        "stdin": "",
        "memory_limit_MB": 1024,
        "language": "python",
        "files": {},
        "fetch_files": [],
    } | fields


async def run(http: httpx.AsyncClient, code: str, **fields: Any) -> dict[str, Any]:
    answer = await http.post("/run_code", json=payload(code, **fields))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_program_reads_and_prints(fusion: httpx.AsyncClient) -> None:
    told = await run(fusion, "import sys\nprint(input() * 2)\nprint('e', file=sys.stderr)", stdin="ab\n")
    assert (told["status"], told["message"], told["compile_result"], told["files"]) == ("Success", "", None, {})
    ran = told["run_result"]
    assert (ran["status"], ran["return_code"], ran["stdout"], ran["stderr"]) == ("Finished", 0, "abab\n", "e\n")
    assert ran["execution_time"] >= 0


async def test_runs_are_never_cached(fusion: httpx.AsyncClient) -> None:
    code = "import uuid\nprint(uuid.uuid4())"
    together = await asyncio.gather(*(run(fusion, code) for _ in range(3)))
    printed = [told["run_result"]["stdout"] for told in (*together, await run(fusion, code))]
    item = {"id": "a", "verifier": "sandbox_run", "completion": code, "reference": {"language": "python"}}
    for _ in range(2):
        answer = (await fusion.post("/v1/score", json={"items": [item]})).json()["results"][0]
        assert not answer.get("cached")
        printed.append(answer["tests"][0]["stdout"])
        engine = fusion._transport.app.state.front.engine  # type: ignore[attr-defined]
        assert not engine.knows(bytes.fromhex(answer["item_key"]))
    assert len(set(printed)) == 6


async def test_a_program_that_fails_is_failed(fusion: httpx.AsyncClient) -> None:
    told = await run(fusion, "raise SystemExit(3)")
    assert (told["status"], told["run_result"]["return_code"]) == ("Failed", 3)
    assert (await run(fusion, "import os; os.kill(os.getpid(), 11)"))["run_result"]["return_code"] == -11


async def test_a_program_out_of_time_has_no_return_code(fusion: httpx.AsyncClient) -> None:
    told = await run(fusion, "while True: pass", run_timeout=1)
    assert (told["status"], told["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")
    assert told["run_result"]["return_code"] is None


async def test_runs_are_isolated_from_each_other(fusion: httpx.AsyncClient) -> None:
    code = "import os, time\nprint(time.time_ns(), os.path.exists('/tmp/x'))\nopen('/tmp/x', 'w').close()"
    first, second = [(await run(fusion, code))["run_result"]["stdout"] for _ in range(2)]
    assert first != second and first.endswith("False\n") and second.endswith("False\n")


async def test_files_are_available_to_the_program(fusion: httpx.AsyncClient) -> None:
    files = {"data.txt": base64.b64encode(b"inside").decode(), "absent": None}
    assert (await run(fusion, "print(open('data.txt').read())", files=files))["run_result"]["stdout"] == "inside\n"


@pytest.mark.parametrize(
    "fields",
    [
        {"language": "klingon"},
        {"run_timeout": 1e6},
        {"run_timeout": -1},
        {"files": {"../x": ""}},
        {"files": {"a": "%"}},
        {"memory_limit_MB": 10**9},
        {"stdin": 7},
    ],
)
async def test_a_request_that_can_never_run_is_a_sandbox_error(
    fusion: httpx.AsyncClient, fields: dict[str, Any]
) -> None:
    told = await run(fusion, "print(1)", **fields)
    assert told["status"] == "SandboxError" and told["message"] and told["run_result"] is None


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_files_in_folders_come_and_go(fusion: httpx.AsyncClient) -> None:
    code = "import os\nos.makedirs('out')\nopen('out/b', 'w').write(open('in/sub/a').read() * 2)"
    told = await run(fusion, code, files={"in/sub/a": b64("x")}, fetch_files=["out/b", "missing"])
    assert (told["status"], told["files"]) == ("Success", {"out/b": b64("xx")})


async def test_files_of_a_compiled_program_are_fetched(fusion: httpx.AsyncClient) -> None:
    code = '#include <stdio.h>\nint main(){ FILE* f = fopen("o", "w"); fputs("hi", f); fclose(f); return 3; }'
    told = await run(fusion, code, language="c", fetch_files=["o"])
    assert (told["run_result"]["return_code"], told["files"]) == (3, {"o": b64("hi")})


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", "a//b"])
async def test_paths_outside_the_working_folder_are_refused(fusion: httpx.AsyncClient, path: str) -> None:
    for fields in ({"fetch_files": [path]}, {"files": {path: b64("x")}}):
        told = await run(fusion, "print(1)", **fields)
        assert (told["status"], told["files"]) == ("SandboxError", {})


async def test_links_are_not_followed_when_files_are_fetched(fusion: httpx.AsyncClient) -> None:
    told = await run(fusion, "import os\nos.symlink('/etc/passwd', 'p')\nos.mkfifo('q')", fetch_files=["p", "q"])
    assert (told["status"], told["files"]) == ("Success", {})


async def test_a_good_compile_is_reported(fusion: httpx.AsyncClient) -> None:
    for _ in range(2):
        told = await run(fusion, "int main(){ return 0; }", language="cpp")
        assert told["compile_result"]["return_code"] == told["run_result"]["return_code"] == 0


async def test_cells_share_names_and_show_what_they_end_with(fusion: httpx.AsyncClient) -> None:
    cells = ["x = 20\nprint('one')", "x * 2 + 2", "1 / 0", "open('f', 'w').write(str(x)); None"]
    answer = await fusion.post("/run_jupyter", json={"cells": cells, "total_timeout": 20, "fetch_files": ["f"]})
    told = answer.json()
    assert told["status"] == "Success" and told["driver"]["return_code"] == 0
    first, second, third, _ = told["cells"]
    assert first["stdout"] == "one\n" and second["display"] == [{"text/plain": "42"}]
    assert third["error"][0]["ename"] == "ZeroDivisionError"
    assert told["files"] == {"f": b64("20")}


async def test_a_cell_that_never_ends_is_stopped(fusion: httpx.AsyncClient) -> None:
    body = {"cells": ["while True: pass", "print('on')"], "cell_timeout": 1, "total_timeout": 20}
    told = (await fusion.post("/run_jupyter", json=body)).json()
    assert told["cells"][0]["error"][0]["ename"] == "TimeoutError" and told["cells"][1]["stdout"] == "on\n"
    body = {"cells": ["import os\nwhile True: pass"], "total_timeout": 1}
    told = (await fusion.post("/run_jupyter", json=body)).json()
    assert told["status"] == "Failed" and told["driver"]["status"] == "TimeLimitExceeded"


async def test_without_a_sandbox_it_is_504_and_never_a_result() -> None:
    async with served(wires=WIRES) as (_, http):
        answer = await http.post("/run_code", json=payload("print(1)"))
        assert (await http.get("/v1/ping")).json() == "pong"
    assert answer.status_code == 504 and "run_result" not in answer.json()


def submission(completion: str, **config: Any) -> dict[str, Any]:
    tests = [{"input": {"stdin": f"{n}\n"}, "output": {"stdout": f"{2 * n}\n"}} for n in (1, 2)]
    given = {"dataset_type": "CommonOJDataset", "language": "python", "provided_data": {"id": 7, "test": tests}}
    return {"dataset": "mine", "id": 7, "completion": completion, "config": given | config}


async def test_a_submission_is_accepted_if_every_test_passes(fusion: httpx.AsyncClient) -> None:
    right = "```python\nprint(2 * int(input()))\n```"
    told = (await fusion.post("/submit", json=submission(right))).json()
    assert (told["id"], told["accepted"], [test["passed"] for test in told["tests"]]) == (7, True, [True, True])
    assert [test["exec_info"]["status"] for test in told["tests"]] == ["Success"] * 2
    assert told["extracted_code"].strip() == "print(2 * int(input()))"
    wrong = (await fusion.post("/submit", json=submission("```python\nprint(2)\n```"))).json()
    assert (wrong["accepted"], [test["passed"] for test in wrong["tests"]]) == (False, [True, False])


async def test_a_submission_reports_how_its_programs_ended(fusion: httpx.AsyncClient) -> None:
    ended = {}
    for language, code in (("python", "while True: pass"), ("python", "1/0"), ("cpp", "no")):
        body = submission(f"```{language}\n{code}\n```", language=language, run_timeout=1)
        told = (await fusion.post("/submit", json=body)).json()
        ended[code] = {k: v and v["return_code"] for k, v in told["tests"][0]["exec_info"].items() if "result" in k}
        assert not told["accepted"] and told["tests"][0]["exec_info"]["status"] == "Failed"
    assert ended["while True: pass"] == {"compile_result": None, "run_result": None}
    assert ended["1/0"] == {"compile_result": None, "run_result": 1}
    assert ended["no"] == {"compile_result": 1, "run_result": None}


async def test_a_callers_extraction_code_is_refused(fusion: httpx.AsyncClient) -> None:
    body = submission("x", custom_extract_logic="import os; os.system('id')")
    assert (await fusion.post("/submit", json=body)).status_code == 422


async def test_a_submission_without_tests_is_refused(fusion: httpx.AsyncClient) -> None:
    assert (await fusion.post("/submit", json=submission("x", provided_data={}))).status_code == 422
