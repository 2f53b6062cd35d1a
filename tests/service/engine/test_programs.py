"""Programs through the engine: lanes with a slot, a dying supervisor, hosts without one, the secrets of the service."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.sandbox import Settings as Sandbox

from .conftest import item, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


def program(source: str, stdin: str = "", expected: str = "ok", **fields: Any) -> dict[str, Any]:
    tests = [{"stdin": stdin, "expected_stdout": expected}]
    reference = {"language": "python", "mode": "stdio", "tests": tests}
    return {"verifier": "code", "completion": f"```python\n{source}\n```", "reference": reference} | fields


async def test_programs_and_text_in_one_batch() -> None:
    async with running(lanes=1, sandbox=Sandbox(slots=2)) as ask:
        rows = [program("print('ok')"), item("x"), program("print('no')"), item("y"), program("while True: pass")]
        rows[4]["reference"]["limits"] = {"wall_s": 1}
        results = await ask(*rows)
    assert [r["reward"] for r in results] == [1, 1, 0, 0, 0]
    assert results[4]["reason"] == "timeout"


async def test_a_killed_supervisor_costs_time_and_no_verdict() -> None:
    async with running(lanes=1, sandbox=Sandbox(slots=2)) as ask:
        await ask(program("print('ok')"))
        sleepers = [program(f"import time; time.sleep(0.2); print('ok')  # {n}") for n in range(20)]
        submission = ask.submit(sleepers)
        await asyncio.sleep(0.7)
        host = ask.engine.sandbox
        assert host.pid is not None
        os.kill(host.pid, signal.SIGKILL)
        results = await asyncio.wait_for(ask.finish(submission), 90)
    assert [r["reward"] for r in results] == [1.0] * 20


@pytest.mark.parametrize("settings", [Sandbox(backends=("none-such",)), Sandbox(backends=()), None])
async def test_without_a_sandbox_no_program_gets_a_0_and_text_is_scored(settings: Sandbox | None) -> None:
    async with running(lanes=1, sandbox=settings) as ask:
        rows = [program("print('ok')"), item("x"), program("1/0"), program("print('ok')", id="again")]
        results = await asyncio.wait_for(ask(*rows), 60)
        later = await ask(program("print('later')"))
    assert [r["reward"] for r in results] == [None, 1, None, None]
    assert {r["error"]["code"] for r in (results[0], results[2], *later)} == {"sandbox_unavailable"}


async def test_a_row_at_fault_is_refused_without_a_sandbox_too() -> None:
    empty = program("print('ok')")
    empty["reference"]["tests"] = []
    async with running(lanes=1, sandbox=None) as ask:
        results = await asyncio.wait_for(ask(empty, program("no fence"), empty), 60)
    assert [r["error"]["code"] for r in results] == ["invalid_reference", "sandbox_unavailable", "invalid_reference"]


async def test_a_caller_that_leaves_frees_its_slots() -> None:
    async with running(lanes=1, sandbox=Sandbox(slots=1)) as ask:
        await ask(program("print('ok')"))
        leaving = ask.submit([program(f"import time; time.sleep(4)  # {n}") for n in range(5)])
        await asyncio.sleep(0.5)
        ask.engine.cancel(leaving)
        (result,) = await asyncio.wait_for(ask(program("print('ok')  # next")), 30)
    assert result["reward"] == 1


async def test_close_leaves_no_jail() -> None:
    others = set(psutil.Process().children(recursive=True))
    async with running(lanes=1, sandbox=Sandbox(slots=2)) as ask:
        await ask(program("print('ok')"))
        ask.submit([program(f"import time; time.sleep(30)  # {n}") for n in range(2)])
        await asyncio.sleep(0.5)
        mine = [child for child in psutil.Process().children(recursive=True) if child not in others]
    _, alive = psutil.wait_procs(mine, timeout=20)
    assert len(mine) > 5 and not alive


SECRET = "s3cret-of-the-service"
PROBE = f"""
import os, socket, glob
found = []
for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
    for name in ('environ', 'cmdline', 'maps'):
        try:
            if {SECRET!r}.encode() in open(f'/proc/{{pid}}/{{name}}', 'rb').read(): found.append((pid, name))
        except OSError: pass
if {SECRET!r} in str(os.environ): found.append('environ')
for path in ('SECRET_FILE', '/etc/shadow', '/root'):
    try: open(path).read(); found.append(path)
    except OSError: pass
for address in (('127.0.0.1', 22), ('10.0.0.1', 80)):
    try: socket.create_connection(address, 1); found.append(address)
    except OSError: pass
print(found or 'ok')
"""


async def test_the_services_secrets_are_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_API_KEY", SECRET)
    secret = tmp_path / "key"
    secret.write_text(SECRET)
    async with running(lanes=1, sandbox=Sandbox(slots=1)) as ask:
        (result,) = await ask(program(PROBE.replace("SECRET_FILE", str(secret))))
    assert result["reward"] == 1, result


async def test_one_owners_files_are_not_anothers() -> None:
    write = "open('/box/w/left', 'w').write('x') if __import__('os').path.isdir('/box/w') else None\nprint('ok')"
    read = "import glob\nprint('ok' if not glob.glob('/box/**/left', recursive=True) else 'found')"
    async with running(lanes=1, sandbox=Sandbox(slots=1)) as ask:
        await ask.finish(ask.submit([program(write)], owner="a"))
        (result,) = await ask.finish(ask.submit([program(read)], owner="b"))
    assert result["reward"] == 1
