"""Named sets of packages that Python programs may import: `plain` has the standard library alone."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from assay.sandbox.errors import MissingEnvironment, Unavailable
from assay.sandbox.host.parts import part
from assay.sandbox.host.surroundings import for_pip

STDLIB_PRELOAD = (
    "abc", "array", "bisect", "cmath", "collections", "collections.abc", "copy", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "heapq", "io", "itertools", "json", "math", "operator",
    "random", "re", "statistics", "string", "struct", "threading", "time", "traceback", "typing",
)  # fmt: skip
"""Modules of the standard library that zygotes hold warm."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A folder of packages (None: none), and the modules of it that zygotes import ahead of time."""

    name: str
    site: Path | None = None
    preload: tuple[str, ...] = STDLIB_PRELOAD

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the names and metadata digests of the packages."""
        digest = hashlib.sha256(repr((self.name, self.preload)).encode())
        for record in sorted(self.site.glob("*.dist-info/RECORD")) if self.site else ():
            digest.update(record.parent.name.encode() + hashlib.sha256(record.read_bytes()).digest())
        return digest.hexdigest()


PLAIN = Environment(name="plain")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An environment that is yet to be installed: the text of a requirements file, and what to import ahead."""

    name: str
    requirements: str
    preload: tuple[str, ...] = ()

    def install(self, state: Path) -> Environment:
        """The environment, installed once under the state folder.

        Runs the operator's own pip (trusted input, network of the operator's choosing). Raises `Unavailable`
        with the last line that pip wrote.
        """
        digest = hashlib.sha256(f"{sys.version}\n{self.requirements}".encode()).hexdigest()[:16]
        site = part(state, f"env-{self.name}-{digest}", self._fill)
        return Environment(name=self.name, site=site, preload=(*STDLIB_PRELOAD, *self.preload))

    def _fill(self, target: Path) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
            listing.write(self.requirements)
            listing.flush()
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(target), "-r", listing.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=for_pip())
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            raise Unavailable(f"environment {self.name} cannot be built: {last}")


def sci() -> Recipe:
    """numpy, scipy, pandas and sympy, all warm."""
    text = files("assay.sandbox").joinpath("profiles", "sci.txt").read_text()
    return Recipe(name="sci", requirements=text, preload=("numpy", "scipy.stats", "pandas", "sympy"))


def find(name: str, known: Mapping[str, Environment]) -> Environment:
    """The environment of that name. Raises `MissingEnvironment`."""
    if name not in known:
        raise MissingEnvironment(f"no package environment of that name here; known: {', '.join(sorted(known))}")
    return known[name]
