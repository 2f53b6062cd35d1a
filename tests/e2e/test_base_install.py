"""The base wheel in a clean environment, on the Python versions of trainers' images: only the client."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.packages
ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "sympy", "fastapi", "uvicorn", "torch", "msgspec", "redis", "grpcio", "pyarrow", "starlette"}
USE = """
import asyncio, json, sys
import assay.client, assay.contract.item
from assay.client import AsyncClient, ConfigurationError
async def main():
    try:
        async with AsyncClient("embedded:") as client:
            await client.score([{"verifier": "exact", "completion": "1", "reference": {}}])
    except ConfigurationError as error:
        assert "assay[verify]" in str(error)
        return
    sys.exit("the embedded engine must not be there")
asyncio.run(main())
"""


def python(version: str) -> str | None:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    for candidate in filter(None, found):
        if subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("*.whl"))


@pytest.mark.parametrize("version", ["3.10", "3.11"])
def test_the_base_wheel_is_the_client(version: str, wheel: Path, tmp_path: Path) -> None:
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} on this machine")
    subprocess.run([interpreter, "-m", "venv", tmp_path / "venv"], check=True)
    bin_ = tmp_path / "venv/bin"
    subprocess.run([bin_ / "python", "-m", "pip", "install", "-q", str(wheel)], check=True, capture_output=True)
    said = subprocess.run([bin_ / "assay", "--help"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert "score" in said and "check" in said
    subprocess.run([bin_ / "python", "-c", USE], check=True, cwd=tmp_path)
    listing = subprocess.run([bin_ / "pip", "list", "--format=json"], check=True, capture_output=True, text=True).stdout
    names = {package["name"].lower() for package in json.loads(listing)}
    assert not names & HEAVY and len(names) < 25, names
