"""As much of pytest as test code of datasets uses, as a module `pytest` inside the tests' jail.

`raises`, `approx`, `fixture`, `mark.parametrize`, `param`, `fail`, `skip`, `importorskip`, `capsys`. Other marks
do nothing. Not covered: plugins, conftest files, fixtures of scope wider than a test.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import inspect
import io
import itertools
import math
import re
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any


class _Raised:
    """What `raises` gives to its block."""

    value: BaseException
    type: Any = None

    def match(self, pattern: str) -> bool:
        """Whether the message matches."""
        assert re.search(pattern, str(self.value))
        return True


@contextlib.contextmanager
def _raising(expected: Any, match: str | None) -> Iterator[_Raised]:
    caught = _Raised()
    try:
        yield caught
    except expected as error:
        caught.value, caught.type = error, type(error)
        assert match is None or re.search(match, str(error)), "message does not match"
    else:
        raise AssertionError("did not raise")


def raises(expected: Any, *args: Any, match: str | None = None, **keywords: Any) -> Any:
    """As `pytest.raises`: a context, or a call that must raise."""
    if not args:
        return _raising(expected, match)
    with _raising(expected, match) as caught:
        args[0](*args[1:], **keywords)
    return caught


class approx:
    """As `pytest.approx` for numbers, and lists, tuples and dicts of them."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:
        self._expected, self._rel, self._abs = expected, rel, abs

    def __eq__(self, actual: object) -> bool:
        return self._close(actual, self._expected)

    def _close(self, actual: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._close(actual[key], item) for key, item in expected.items())
            )
        if isinstance(expected, (list, tuple)):
            return (
                isinstance(actual, (list, tuple))
                and len(actual) == len(expected)
                and all(self._close(a, b) for a, b in zip(actual, expected, strict=True))
            )
        if isinstance(expected, (int, float)) and not isinstance(expected, bool):
            if not isinstance(actual, (int, float)) or not (math.isfinite(actual) and math.isfinite(expected)):
                return bool(actual == expected)
            relative = 1e-6 if self._rel is None and self._abs is None else self._rel or 0.0
            absolute = 1e-12 if self._abs is None else self._abs
            return abs(actual - expected) <= max(absolute, relative * abs(expected))
        return bool(actual == expected)


def fixture(function: Any = None, **_: Any) -> Any:
    """As `pytest.fixture`: called anew for every test that names it."""
    if function is None:
        return fixture
    function.__assay_fixture__ = True
    return function


class _Mark:
    """`pytest.mark`: parametrize works, other marks leave the function as it is."""

    @staticmethod
    def parametrize(names: Any, rows: Any, **_: Any) -> Any:
        """Run the test once for every row."""
        split = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

        def mark(function: Any) -> Any:
            function.__assay_rows__ = [*getattr(function, "__assay_rows__", []), (split, list(rows))]
            return function

        return mark

    def __getattr__(self, name: str) -> Any:
        def mark(*args: Any, **_: Any) -> Any:
            return args[0] if len(args) == 1 and callable(args[0]) else lambda function: function

        return mark


class _Param(tuple[Any, ...]):
    """`pytest.param`."""


def param(*values: Any, **_: Any) -> Any:
    """As `pytest.param`; ids and marks are ignored."""
    return _Param(values)


def fail(reason: str = "", **_: Any) -> None:
    """As `pytest.fail`."""
    raise AssertionError(reason)


def skip(reason: str = "", **_: Any) -> None:
    """As `pytest.skip`: a skip is no pass."""
    raise unittest.SkipTest(reason)


def run_function(function: Callable[..., Any], names: dict[str, Any], *bound: Any) -> None:
    """Run a test function for each of its rows, with its fixtures; generators' ends run too."""
    tables = getattr(function, "__assay_rows__", [])
    for combination in itertools.product(*(rows for _, rows in tables)):
        given: dict[str, Any] = {}
        for (split, _), row in zip(tables, combination, strict=True):
            values = tuple(row) if len(split) > 1 or isinstance(row, _Param) else (row,)
            given.update(zip(split, values, strict=True))
        with contextlib.ExitStack() as stack:
            wanted = list(inspect.signature(function).parameters)[len(bound) :]
            missing = [name for name in wanted if name not in given]
            given.update({name: _fixture_value(name, names, stack) for name in missing})
            function(*bound, **given)


class _Captured:
    """The `capsys` fixture."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(self._out))
        stack.enter_context(contextlib.redirect_stderr(self._err))

    def readouterr(self) -> Any:
        """What was written since the last time: `out` and `err`."""
        both = [stream.getvalue() for stream in (self._out, self._err)]
        for stream in (self._out, self._err):
            stream.seek(0)
            stream.truncate()
        return collections.namedtuple("CaptureResult", "out err")(*both)


def _fixture_value(name: str, names: dict[str, Any], stack: contextlib.ExitStack) -> Any:
    if name == "capsys" and name not in names:
        return _Captured(stack)
    maker = names.get(name)
    if not getattr(maker, "__assay_fixture__", False):
        raise LookupError("no such fixture")
    needs = {need: _fixture_value(need, names, stack) for need in inspect.signature(maker).parameters}  # type: ignore[arg-type]
    made = maker(**needs)  # type: ignore[misc]
    if inspect.isgenerator(made):
        value = next(made)
        stack.callback(next, made, None)
        return value
    return made


def run_class(case: type, names: dict[str, Any]) -> None:
    """Run the `test*` methods of a pytest-style class, each on a new instance."""
    for name, method in list(vars(case).items()):
        if name.startswith("test") and isinstance(method, types.FunctionType):
            instance = case()
            for hook in ("setup_method", "setUp"):
                if hasattr(instance, hook):
                    _hook(getattr(instance, hook), method)
            run_function(method, names, instance)
            if hasattr(instance, "teardown_method"):
                _hook(instance.teardown_method, method)


def _hook(hook: Callable[..., Any], method: Any) -> None:
    hook(*([method] if inspect.signature(hook).parameters else []))


def install() -> None:
    """Make `import pytest` find this, unless the environment has pytest itself."""
    try:
        importlib.import_module("pytest")
    except ImportError:
        module = types.ModuleType("pytest")
        public = (raises, approx, fixture, param, fail, skip)
        module.__dict__.update({item.__name__: item for item in public})
        module.__dict__.update(mark=_Mark(), importorskip=importlib.import_module, main=lambda *a, **k: 0)
        sys.modules["pytest"] = module
