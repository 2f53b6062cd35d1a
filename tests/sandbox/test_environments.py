# ruff: noqa: E501
"""Package environments: a program imports what its environment holds, and nothing of ours."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox import (
    Environment,
    MissingEnvironment,
    Recipe,
    Settings,
    Slot,
    Supervisor,
    Unavailable,
    python_program,
    sci,
)
from assay.sandbox.environments import STDLIB_PRELOAD


@pytest.fixture(scope="module")
def slot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slot]:
    site = Path("/var/tmp") / f"assay-test-site-{tmp_path_factory.getbasetemp().name}"
    site.mkdir(mode=0o755)
    (site / "extra_package.py").write_text("loaded = []\nvalue = 41\n")
    environment = Environment(name="extra", site=site, preload=(*STDLIB_PRELOAD, "extra_package"))
    try:
        with Supervisor.start(Settings(slots=1, environments=(environment,))) as supervisor:
            assert supervisor.isolation()["environments"] == ["extra", "plain"]
            opened = Slot.from_descriptor(supervisor.connect())
            yield opened
            opened.close()
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    finally:
        (site / "extra_package.py").unlink()
        site.rmdir()


def test_its_packages_are_there_and_warm(slot: Slot) -> None:
    source = (
        b"import sys\nwarm = 'extra_package' in sys.modules\nimport extra_package\nprint(warm, extra_package.value)"
    )
    assert slot.run(python_program(source, environment="extra")).stdout == b"True 41\n"


def test_a_child_interpreter_finds_them_too(slot: Slot) -> None:
    source = b"import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'import extra_package']))"
    assert slot.run(python_program(source, environment="extra")).stdout == b"b''\n"


def test_runs_do_not_share_the_state_of_warm_packages(slot: Slot) -> None:
    source = b"import extra_package\nextra_package.loaded.append(1)\nprint(extra_package.loaded)"
    for _ in range(2):
        assert slot.run(python_program(source, environment="extra")).stdout == b"[1]\n"


@pytest.mark.parametrize("name", ["extra_package", "assay", "pydantic", "pip", "msgspec"])
def test_plain_has_the_standard_library_alone(slot: Slot, name: str) -> None:
    result = slot.run(python_program(f"import {name}".encode()))
    assert not result.ok and b"ModuleNotFoundError" in result.stderr


def test_an_unknown_environment_is_said_to_be_missing(slot: Slot) -> None:
    with pytest.raises(MissingEnvironment, match="extra, plain"):
        slot.run(python_program(b"pass", environment="nowhere"))


def test_the_fingerprint_covers_packages(tmp_path: Path) -> None:
    empty = Environment(name="x", site=tmp_path).fingerprint
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("thing.py,sha256=abc,1\n")
    assert Environment(name="x", site=tmp_path).fingerprint != empty


def test_requirements_that_cannot_be_installed_are_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="broken cannot be built"):
        Recipe(name="broken", requirements="./no/such/folder\n").install(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_requirements_file_becomes_an_environment(tmp_path: Path) -> None:
    """pip installs it once; programs import it warm; the next start finds it."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n'
        '[project]\nname = "homemade"\nversion = "1"\n'
    )
    (project / "build.py").write_text(BUILD_BACKEND)
    state = Path("/var/tmp") / f"assay-test-state-{tmp_path.name}"
    recipe = Recipe(name="mine", requirements=f"{project}\n", preload=("homemade",))
    settings = Settings(slots=1, environments=(recipe,), state_dir=state)
    try:
        for _ in range(2):
            with Supervisor.start(settings) as supervisor:
                opened = Slot.from_descriptor(supervisor.connect())
                source = b"import sys\nprint('homemade' in sys.modules)\nimport homemade\nprint(homemade.value)"
                assert opened.run(python_program(source, environment="mine")).stdout == b"True\n41\n"
                opened.close()
            (project / "build.py").unlink(missing_ok=True)  # a second build would fail
    finally:
        shutil.rmtree(state)


BUILD_BACKEND = """
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "homemade-1-py3-none-any.whl"
    files = {"homemade.py": "value = 41\\n",
             "homemade-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: homemade\\nVersion: 1\\n",
             "homemade-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr("homemade-1.dist-info/RECORD", "".join(f"{p},,\\n" for p in files) + "homemade-1.dist-info/RECORD,,\\n")
    return name
"""


def test_the_bundled_environment_is_said_in_full() -> None:
    assert {"numpy", "scipy.stats", "pandas", "sympy"} == set(sci().preload)
    assert all(f"{name}>=" in sci().requirements for name in ("numpy", "scipy", "pandas", "sympy"))
