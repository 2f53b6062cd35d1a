"""No process that the service starts holds a secret of it, before and after restarts of each kind."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from assay.client import Client
from assay.sandbox import Recipe, Unavailable

from ._service import free_port, serving

KEY, PASSWORD, TOKEN = "key-of-a-tenant-1", "redis-password-2", "token-of-a-hub-3"
SECRETS = {
    "ASSAY_KEYS": f'["{KEY}"]',
    "ASSAY_REDIS__URL": f"redis://:{PASSWORD}@127.0.0.1:1/0",
    "ASSAY_REDIS__SECRET": "s" * 40,
    "SOME_TOKEN": TOKEN,
    "AWS_SECRET_ACCESS_KEY": "access-key-4",
    "assay_lower_case": "5-lower-case",
}
WORDS = [KEY, PASSWORD, TOKEN, "s" * 40, "access-key-4", "5-lower-case"]
ALLOWED = {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "LANG", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"}
ALLOWED |= {"MPMATH_NOGMPY", "SYMPY_GROUND_TYPES", "OPENBLAS_NUM_THREADS", "HOME", "USER", "PYTHONUTF8"}
ALLOWED |= {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"}
REFERENCE = {"language": "python", "mode": "stdio", "tests": [{"stdin": "", "expected_stdout": "1"}]}


def program(number: int) -> dict[str, object]:
    return {"verifier": "code", "completion": f"```python\nprint(1)  # {number}\n```", "reference": REFERENCE}


def environments(service: psutil.Process) -> Iterator[tuple[str, bytes]]:
    """The name, environment and command line of each descendant."""
    for child in service.children(recursive=True):
        try:
            raw = Path(f"/proc/{child.pid}/environ").read_bytes() + Path(f"/proc/{child.pid}/cmdline").read_bytes()
            yield " ".join(child.cmdline()[:4]), raw
        except (OSError, psutil.Error):
            continue


def check(service: psutil.Process) -> int:
    count = 0
    for name, raw in environments(service):
        held = [value for value in WORDS if value.encode() in raw]
        assert not held, (name, held)
        count += 1
    for child in service.children(recursive=True):
        try:
            names = set(child.environ())
        except psutil.Error:
            continue
        assert names <= ALLOWED, (child.name(), names - ALLOWED)
    return count


def test_no_child_of_the_service_holds_a_secret() -> None:
    port = free_port()
    with serving(port, **SECRETS) as service, Client(f"http://127.0.0.1:{port}", api_key=KEY) as client:
        assert client.score([program(0)])[0].reward == 1.0
        assert check(service) >= 5  # forkserver, two lanes or more, supervisor, a jail
        children = service.children()
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
        asyncio.run(asyncio.sleep(0.5))
        assert client.score([program(1)], deadline_s=60)[0].reward == 1.0
        assert {child.pid for child in service.children()}.isdisjoint(child.pid for child in children)
        assert check(service) >= 5


def test_the_build_scripts_of_packages_get_pips_options_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    backend = '[build-system]\nrequires = []\nbackend-path = ["."]\nbuild-backend = "spy"\n'
    (package / "pyproject.toml").write_text(backend + '[project]\nname = "spied"\nversion = "1"\n')
    seen = tmp_path / "seen"
    spy = f"import os\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)))\nraise SystemExit('seen')\n"
    (package / "spy.py").write_text(spy)
    for name, value in (SECRETS | {"PIP_NO_INDEX": "1", "https_proxy": "http://127.0.0.1:9"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable, match="spied"):
        Recipe(name="spied", requirements=str(package)).install(tmp_path)
    held = seen.read_text()
    assert not [value for value in WORDS if value in held]
    assert "PIP_NO_INDEX" in held and "https_proxy" in held
