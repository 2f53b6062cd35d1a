"""As much of pytest as test code of datasets uses, as a module `pytest` inside the tests' jail.

`raises`, `warns`, `approx`, `fixture`, `mark` (parametrize, skip, skipif, xfail, usefixtures; others do nothing),
`param`, `fail`, `skip`, `importorskip`. What runs tests is `pytest_run`, what refuses a row `pytest_static`.
Not covered: plugins, conftest files, hooks.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.sandbox.guest.testing.pytest_approx import approx
from assay.sandbox.guest.testing.pytest_together import MonkeyPatch, TempPathFactory

FIXTURE, MARKS = "__assay_fixture__", "__assay_marks__"


class Raised:
    """What `raises` gives to its block."""

    value: BaseException
    type: Any = None
    tb: Any = None

    @property
    def typename(self) -> str:
        """The name of the class."""
        return str(self.type.__name__)

    def match(self, pattern: str) -> bool:
        """Whether the message matches."""
        assert re.search(pattern, str(self.value))
        return True

    def exconly(self) -> str:
        """Class and message in one line."""
        return f"{self.typename}: {self.value}"


@contextlib.contextmanager
def _raising(expected: Any, match: Any, check: Any) -> Iterator[Raised]:
    caught = Raised()
    try:
        yield caught
    except expected as error:
        caught.value, caught.type, caught.tb = error, type(error), error.__traceback__
        assert match is None or re.search(match, str(error)), "message does not match"
        assert check is None or check(error), "check of the exception failed"
    else:
        raise AssertionError("did not raise")


def raises(expected: Any, *args: Any, match: Any = None, check: Any = None, **keywords: Any) -> Any:
    """As `pytest.raises`: a context, or a call that must raise."""
    if not args:
        return _raising(expected, match, check)
    with _raising(expected, match, check) as caught:
        args[0](*args[1:], **keywords)
    return caught


@contextlib.contextmanager
def _warning(expected: Any, match: Any) -> Iterator[list[Any]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    found = [each for each in caught if issubclass(each.category, expected)]
    assert any(match is None or re.search(match, str(each.message)) for each in found), "did not warn"


def warns(expected: Any = Warning, *args: Any, match: Any = None, **keywords: Any) -> Any:
    """As `pytest.warns`: a context, or a call that must warn."""
    if not args:
        return _warning(expected, match)
    with _warning(expected, match):
        return args[0](*args[1:], **keywords)


def deprecated_call(*, match: Any = None) -> Any:
    """As `pytest.deprecated_call`."""
    return _warning((DeprecationWarning, PendingDeprecationWarning, FutureWarning), match)


@dataclass
class Fixture:
    """What `fixture` says of a function."""

    scope: str = "function"
    autouse: bool = False
    params: list[Any] = field(default_factory=list)
    name: str | None = None


def fixture(
    function: Any = None,
    *,
    scope: Any = "function",
    params: Any = None,
    autouse: bool = False,
    name: str | None = None,
    **_: Any,
) -> Any:
    """As `pytest.fixture`."""

    def mark(maker: Any) -> Any:
        scope_name = scope if isinstance(scope, str) else "function"
        setattr(maker, FIXTURE, Fixture(scope_name, autouse, list(params or ()), name))
        return maker

    return mark if function is None else mark(function)


@dataclass(frozen=True)
class Mark:
    """One mark, as a decorator."""

    name: str
    args: tuple[Any, ...] = ()
    keywords: Any = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Mark a function or class; with anything else, the same mark with arguments."""
        if len(args) == 1 and not keywords and self.keywords is None and _is_markable(args[0]):
            return self._on(args[0])
        if self.keywords is not None and len(args) == 1 and callable(args[0]):
            return self._on(args[0])
        return Mark(self.name, args, keywords)

    def _on(self, thing: Any) -> Any:
        setattr(thing, MARKS, [*getattr(thing, MARKS, ()), self])
        return thing


def _is_markable(thing: Any) -> bool:
    return isinstance(thing, (type, types.FunctionType)) or getattr(thing, MARKS, None) is not None


class _Marks:
    """`pytest.mark`."""

    def __getattr__(self, name: str) -> Mark:
        return Mark(name)


class Param(tuple[Any, ...]):
    """`pytest.param`."""

    marks: tuple[Any, ...] = ()


def param(*values: Any, marks: Any = (), **_: Any) -> Any:
    """As `pytest.param`; ids are ignored."""
    made = Param(values)
    made.marks = tuple(marks) if isinstance(marks, (list, tuple)) else (marks,)
    return made


def fail(reason: str = "", **_: Any) -> None:
    """As `pytest.fail`."""
    raise AssertionError(reason)


def skip(reason: str = "", **_: Any) -> None:
    """As `pytest.skip`: a skip is no pass."""
    raise unittest.SkipTest(reason)


class _Annotation:
    """Stands for a class of pytest that tests name in annotations."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


def install() -> None:
    """Make `import pytest` find this."""
    module = types.ModuleType("pytest")
    public = (raises, warns, deprecated_call, approx, fixture, param, fail, skip)
    module.__dict__.update({item.__name__: item for item in public})
    module.__dict__.update(
        mark=_Marks(),
        importorskip=importlib.import_module,
        main=lambda *a, **k: 0,
        yield_fixture=fixture,
        xfail=skip,
        exit=skip,
    )
    module.__dict__.update(MonkeyPatch=MonkeyPatch, TempPathFactory=TempPathFactory)
    for name in ("FixtureRequest", "CaptureFixture", "LogCaptureFixture", "ExceptionInfo", "Function", "Item"):
        module.__dict__[name] = _Annotation
    sys.modules["pytest"] = module
