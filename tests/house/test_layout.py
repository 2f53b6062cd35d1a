"""Layout of the source: five source roots of one PEP 420 namespace, no registry host, generated pages committed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ["client", "verifiers", "sandbox", "service", "trainer_adapter"]


@pytest.mark.parametrize("part", PARTS)
def test_no_init_hides_the_other_parts(part: str) -> None:
    assert not (ROOT / part / "__init__.py").exists()
    assert not (ROOT / part / "assay" / "__init__.py").exists()


def test_no_file_names_a_registry() -> None:
    for name in ("requirements.txt", "pyproject.toml", "tools/setup.sh"):
        path = ROOT / name
        assert not path.exists() or "://" not in path.read_text()


def test_the_generated_pages_are_committed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools/docs.py", tmp_path], check=True)
    for page in tmp_path.iterdir():
        assert (ROOT / "docs" / page.name).read_text() == page.read_text(), "run `make docs`"
