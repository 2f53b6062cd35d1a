"""Package environments: a program imports what its environment holds, and nothing of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox import Environment, MissingEnvironment, Settings, Slot, Supervisor, Unavailable, python_program
from assay.sandbox.environments import STDLIB_PRELOAD, build


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
        build("broken", "./no/such/folder\n", state=tmp_path)
