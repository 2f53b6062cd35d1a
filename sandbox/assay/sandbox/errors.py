"""Faults of the sandbox itself. A failing *program* is data (`RunResult`), never one of these.

SandboxError
├── Unavailable        no backend holds here, or the supervisor is gone: retry later or elsewhere
│   ├── MissingLanguage      no toolchain for that language on this host
│   ├── MissingEnvironment   no package environment of that name on this host
│   └── JailReplaced         a jail that the lane still named is gone: ask for another
└── LimitTooHigh       a limit above this host's ceiling: refused, never clamped
"""

from __future__ import annotations


class SandboxError(Exception):
    """Root of the faults of the sandbox."""


class Unavailable(SandboxError):
    """Nothing can run now, for a reason outside the program."""


class MissingLanguage(Unavailable):
    """No toolchain for the language on this host."""


class MissingEnvironment(Unavailable):
    """No such package environment on this host."""


class JailReplaced(Unavailable):
    """The supervisor has ended the jail; the slot requests another one. Never raised to callers."""


class LimitTooHigh(SandboxError):
    """A limit that was asked for is above the ceiling of this host."""
