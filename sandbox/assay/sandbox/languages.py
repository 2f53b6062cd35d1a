"""Languages: the table `profiles/languages.toml`, and which of them this host has.

Python runs in the zygote itself. Others are found by their executables in system folders, which
jails of image `system` see read-only. Not covered: toolchains under /usr/local or a home folder.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import tomllib

from assay.sandbox.errors import MissingLanguage
from assay.sandbox.limits import Limits

COMPILE_LIMITS = Limits(
    wall_s=30.0, cpu_s=30.0, memory_mb=1536, processes=64, output_mb=1, disk_mb=256, file_mb=128, stack_mb=64
)
"""What one compilation may use."""
ARTEFACT_BYTES = 64 << 20
"""The largest compiled program that leaves a compile jail."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """One row of the table; see there for the meaning of the fields."""

    name: str
    source: str
    probe: str = ""
    paths: tuple[str, ...] = ()
    compile: str | None = None
    run: tuple[str, ...] = ()
    stack_mb: int = 64
    extra_processes: int = 0
    memory_slack_mb: int = 0


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """A language as found on this host."""

    language: Language
    executable: str
    digest: str
    version: str


@functools.cache
def table() -> dict[str, Language]:
    """The shipped table by name."""
    text = files("assay.sandbox").joinpath("profiles/languages.toml").read_text()
    return {name: _language(name, row) for name, row in tomllib.loads(text).items()}


def _language(name: str, row: dict[str, Any]) -> Language:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Language(name=name, **fields)


@functools.cache
def found_languages() -> dict[str, Toolchain]:
    """The languages whose toolchains are on this host."""
    return {name: toolchain for name, row in table().items() if (toolchain := _find(row)) is not None}


def toolchain(name: str) -> Toolchain:
    """The toolchain of a language. Raises `MissingLanguage`."""
    found = found_languages().get(name)
    if found is None:
        raise MissingLanguage(f"no toolchain for that language on this host; found: {', '.join(found_languages())}")
    return found


def _find(row: Language) -> Toolchain | None:
    if row.name == "python":
        version = sys.version.split()[0]
        return Toolchain(language=row, executable=sys.executable, digest=version, version=version)
    for pattern in row.paths:
        for path in sorted(glob.glob(pattern)):
            if os.access(path, os.X_OK):
                digest = _digest(os.path.realpath(path))
                return Toolchain(language=row, executable=path, digest=digest, version=digest[:12])
    return None


def _digest(path: str) -> str:
    """Digest of an executable: its content up to 1 MiB, its size and its time of change."""
    info = os.stat(path)
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    return hashlib.sha256(head + f"{path}:{info.st_size}:{info.st_mtime_ns}".encode()).hexdigest()
