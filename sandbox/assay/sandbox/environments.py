"""Named sets of packages that Python programs may import: `plain` has the standard library alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.sandbox.errors import MissingEnvironment

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


def find(name: str, known: Mapping[str, Environment]) -> Environment:
    """The environment of that name. Raises `MissingEnvironment`."""
    if name not in known:
        raise MissingEnvironment(f"no package environment of that name here; known: {', '.join(sorted(known))}")
    return known[name]
