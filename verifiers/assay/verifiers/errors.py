"""Reasons why a verifier gives no verdict. Nothing that a completion contains may raise one of these.

    NoVerdict
    ├── InvalidReference     the row's fault: `prepare` refused the reference (reward null, never 0)
    ├── InvalidItem          the row's fault: a field that the verifier reads is missing or ill-formed
    ├── UnsupportedLanguage  the host's fault, not retryable: it has no toolchain for the row's language
    ├── SandboxUnavailable   the host's fault, retryable: no sandbox (or environment) available
    └── NeedsSandbox         not a fault: the engine moves the item to a lane that has a sandbox slot

A failing *candidate* is data (`Verdict`), never an exception.
"""

from __future__ import annotations


class NoVerdict(Exception):
    """No verdict can be given. `code` and `message` are returned to the caller; never echo input in `message`."""

    code = "internal"
    retryable = False

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidReference(NoVerdict):
    """The reference is ill-formed, checks nothing, or its gold does not parse."""

    code = "invalid_reference"


class InvalidItem(NoVerdict):
    """A field of the item that this verifier reads is missing or ill-formed."""

    code = "invalid_item"


class UnsupportedLanguage(NoVerdict):
    """This host has no toolchain for the language of the row."""

    code = "unsupported_language"


class SandboxUnavailable(NoVerdict):
    """No sandbox or environment on this host can run the item."""

    code = "sandbox_unavailable"
    retryable = True


class NeedsAlgebra(Exception):
    """Raised by `verify` where computer algebra must decide: the engine moves the item to a lane that may run it.

    Not a `NoVerdict`: no part of a composite may take it for the lack of a verdict.
    """


class NeedsSandbox(NoVerdict):
    """Raised by `prepare` in a lane without a sandbox slot if the reference needs one."""

    code = "needs_sandbox"
