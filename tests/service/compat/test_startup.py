"""Settings of a compat protocol under which no row could get a verdict are refused, and the message names the key."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from assay.client import ConfigurationError
from assay.service.http.app import create_app
from assay.service.settings import Settings

from .conftest import EXACT, response, said, served

ANSWER = {"answer": "{label}"}
UNKNOWN_COLUMNS = {
    "reference": {"verifier": "math", "reference": {"answer": "{lable}"}},
    "nested": {"verifier": "exact", "reference": {**EXACT, "gold": ["{label}", "{Label.x!json}"]}},
    "verifier": {"verifier": "{kind}", "reference": ANSWER},
    "field": {"verifier": "math", "reference": ANSWER, "fields": {"truncated": "{cut}"}},
}
WRONG_VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown verifier": ({"verifier": "mathh", "reference": ANSWER}, "'mathh'"),
    "unknown reference field": ({"verifier": "math", "reference": {"answr": "{label}"}}, "did you mean 'answer'"),
    "required reference field": ({"verifier": "exact", "reference": {"gold": "{label}"}}, "requires extract, mode"),
}


@pytest.mark.parametrize("protocol", list(UNKNOWN_COLUMNS))
def test_a_placeholder_that_no_row_fills_is_refused(protocol: str) -> None:
    with pytest.raises(ValidationError, match=r"no row has \{.*; the names are: label, prompt, query"):
        Settings(wires={"openrlhf": UNKNOWN_COLUMNS[protocol]})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["openrlhf", "slime", "nemo_gym"])
@pytest.mark.parametrize("case", list(WRONG_VALUES))
def test_a_verifier_or_reference_that_does_not_exist_stops_the_start(name: str, case: str) -> None:
    mapped, message = WRONG_VALUES[case]

    async def start() -> None:
        app = create_app(Settings(wires={name: mapped}, lanes=1, sandbox_backends=()))  # type: ignore[arg-type]
        async with app.router.lifespan_context(app):
            pass

    with pytest.raises(ConfigurationError, match=message) as caught:
        asyncio.run(start())
    assert f"[wires.{name}]" in str(caught.value)


def test_serve_prints_the_key_and_exits(tmp_path: Path) -> None:
    config = tmp_path / "assay.toml"
    config.write_text('[wires.slime]\nverifier = "mathh"\nreference = { answer = "{label}" }\n')
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--config", str(config), "--lanes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode and "[wires.slime] verifier" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.asyncio
async def test_a_column_that_no_row_had_is_refused_and_one_that_a_row_lacks_is_its_fault() -> None:
    mapped = {"verifier": "exact", "reference": {**EXACT, "gold": "{gold}"}}
    row = {"response": response(said("4"))}
    async with served(wires={"nemo_gym": mapped}) as (_, http):
        http: httpx.AsyncClient
        first = await http.post("/verify", json=row)
        assert first.status_code == 422 and "[wires.nemo_gym]" in first.text and "gold" in first.text
        assert (await http.post("/verify", json={**row, "gold": "4"})).json()["reward"] == 1.0
        assert (await http.post("/verify", json=row)).json()["mask_sample"] is True
