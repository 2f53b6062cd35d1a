"""Parts of the state folder: whole or absent, kept while somebody uses them, gone when nobody has for long."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.sandbox.host import parts

LONG_AGO = time.time() - 90 * 86400

USER = """
import sys
from pathlib import Path

from assay.sandbox.host import parts

parts.part(Path(sys.argv[1]), "root-1", lambda top: None)
print(flush=True)
sys.stdin.read()
"""


def fill(top: Path) -> None:
    (top / "file").write_text("content")


def age(folder: Path) -> Path:
    os.utime(folder, (LONG_AGO, LONG_AGO))
    return folder


def test_a_part_is_built_once(tmp_path: Path) -> None:
    built = parts.part(tmp_path, "root-1", fill)
    assert (built / "file").read_text() == "content"
    assert parts.part(tmp_path, "root-1", lambda top: pytest.fail("built again")) == built


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        parts.part(tmp_path, "root-1", lambda top: 1 // 0)  # type: ignore[arg-type,return-value]
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_has_used_for_long_is_swept(tmp_path: Path) -> None:
    old, half_built, recent = (tmp_path / name for name in ("root-old", ".root-x-abc", "env-recent"))
    for folder in (old, half_built, recent):
        folder.mkdir()
        fill(folder)
    age(old)
    age(half_built)
    parts.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [recent]


def test_what_somebody_uses_is_kept_however_old(tmp_path: Path) -> None:
    command = [sys.executable, "-c", USER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        parts.sweep(age(tmp_path / "root-1").parent)
        assert (tmp_path / "root-1").is_dir()
        process.communicate()
    parts.sweep(age(tmp_path / "root-1").parent)
    assert not (tmp_path / "root-1").exists()


def test_other_folders_are_not_touched(tmp_path: Path) -> None:
    folder = age_of_new(tmp_path / "box-1-a")
    parts.sweep(tmp_path)
    assert folder.is_dir()


def age_of_new(folder: Path) -> Path:
    folder.mkdir()
    return age(folder)
