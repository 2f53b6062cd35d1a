"""The public surface: settings, metrics, commands, routes, the gRPC package and documented imports.

`surface.json` lists them; a name that goes breaks somebody. After a deliberate change:
`python -m tests.house._surface > tests/house/surface.json`.
"""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from ._source import ROOT
from ._surface import surface

LISTED: dict[str, list[str]] = json.loads(Path(__file__).with_name("surface.json").read_text())
NOW = surface()


@pytest.mark.parametrize("kind", LISTED)
def test_nothing_of_the_surface_is_gone(kind: str) -> None:
    assert not set(LISTED[kind]) - set(NOW[kind])


@pytest.mark.parametrize("kind", LISTED)
def test_what_is_new_is_listed(kind: str) -> None:
    assert not set(NOW[kind]) - set(LISTED[kind]), "add it to surface.json"


def test_documented_imports_work() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = {
        line for page in pages for line in re.findall(r"^from (assay[\w.]* import [\w, ]+)", page.read_text(), re.M)
    }
    assert len(lines) >= 5
    for line in lines:
        module, _, names = line.partition(" import ")
        for name in names.split(","):
            assert hasattr(import_module(module), name.strip()), line
