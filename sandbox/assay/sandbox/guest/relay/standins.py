"""Exception classes that the program gives to the tests and that would also catch the tests' own failures.

A program may bind `ValidationError = AssertionError` (or `Exception`). Tests that catch it would then swallow their own
failed assertion. So the tests get a subclass in its place, and exceptions that come from the program are made instances
of it too: the tests' handlers catch what the program raises and nothing else.
"""

from __future__ import annotations

from functools import cache
from typing import Any


class StandIns:
    """The stand-ins of one relay, by the class that they stand for."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def of(self, kind: Any) -> Any:
        """Return the stand-in for an exception class that would catch a failed assertion; others as they are."""
        if not (isinstance(kind, type) and issubclass(AssertionError, kind) and issubclass(kind, BaseException)):
            return kind
        if kind not in self._made:
            self._made[kind] = _StandInType(kind.__name__, (kind,), {"__module__": kind.__module__, "stands_for": kind})
        return self._made[kind]

    def raised(self, kind: Any) -> Any:
        """Return the class for an exception of the program: caught by every stand-in that stands for a base of it."""
        bases = [made for base, made in self._made.items() if issubclass(kind, base) and not issubclass(kind, made)]
        bases = [each for each in bases if not any(other is not each and issubclass(other, each) for other in bases)]
        return _caught_by(kind, tuple(bases)) if bases else kind


class _StandInType(type):
    """A stand-in equals the class that it stands for: a test may compare what a function returned."""

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.__dict__.get("stands_for")

    def __hash__(cls) -> int:
        return hash(cls.__dict__.get("stands_for"))


@cache
def _caught_by(kind: Any, bases: tuple[Any, ...]) -> Any:
    module, name = kind.__module__, kind.__qualname__
    return _StandInType(kind.__name__, (*_first(kind, bases), *bases), {"__module__": module, "__qualname__": name})


def _first(kind: Any, bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The class itself, unless a stand-in is already a subclass of it."""
    return () if any(issubclass(base, kind) for base in bases) else (kind,)
