"""Faults of the sandbox itself. A failing *program* is data (`RunResult`), never one of these.

SandboxError
├── Unavailable        no backend holds here, or the supervisor is gone: retry later or elsewhere
│   ├── MissingLanguage      no toolchain for that language on this host
│   └── MissingEnvironment   no package environment of that name on this host
└── LimitTooHigh       a limit above this host's ceiling: refused, never clamped
"""

from __future__ import annotations


class SandboxError(Exception):
    """Root of the faults of the sandbox."""


class Unavailable(SandboxError):
    """Nothing can run now; not the program's doing."""


class MissingLanguage(Unavailable):
    """No toolchain for the language on this host."""


class MissingEnvironment(Unavailable):
    """No such package environment on this host."""


class LimitTooHigh(SandboxError):
    """A limit that was asked for is above the ceiling of this host."""
