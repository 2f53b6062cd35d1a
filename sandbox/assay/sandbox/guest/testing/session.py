"""One run of test code: its namespace, its counts, its verdict.

TestCase classes, `test*` functions and `Test*` classes run even if the script does not run them; each test that
the text defines must have been entered, unless a mark of its own excuses it. A skip is no pass.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import os
import sys
import traceback
import types
import unittest
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest.relay.ownership import TESTS_FILE
from assay.sandbox.guest.relay.proxies import Remote, RemoteType
from assay.sandbox.guest.testing import pytest_run, pytest_shim, units

_FILE = "test_solution.py"


class _Namespace(dict[str, Any]):
    """The tests' global names in one process with the program.

    Names that the program binds anew (`global total`) are looked up in its module each time. A class body does not
    ask `__missing__`, so all other names are copied when the tests start.
    """

    def __init__(self, own: dict[str, Any], program: dict[str, Any], rebound: set[str]) -> None:
        super().__init__(own)
        self._program, self._rebound = program, rebound

    def __missing__(self, name: str) -> Any:
        if name not in self._rebound:
            raise KeyError(name)
        return self._program[name]


class _Main(types.ModuleType):
    """A module `__main__` whose attributes are the names of a `_Namespace`."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__("__main__")
        self.__dict__["names_of_the_tests"] = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["names_of_the_tests"][name]
        except KeyError:
            raise AttributeError(name) from None


class Session:
    """Runs a unit with the program's `names`.

    In one process with the program, `module` is its module and `rebound` names what it binds anew.
    """

    def __init__(
        self,
        names: dict[str, Any],
        unit: units.Unit,
        module: types.ModuleType | None = None,
        rebound: set[str] | None = None,
    ) -> None:
        self.count = 0
        self._module, self._rebound = module, rebound or set()
        self._unit = unit
        self.entered: set[str] = set()
        own = {name: _module(path) for name, path in unit.own_modules.items()}
        self.names: dict[str, Any] = {
            **names,
            **{name: module for name, module in own.items() if module is not None},
            "__name__": "__main__",
            "__builtins__": builtins,
            "__file__": os.path.join(os.getcwd(), _FILE),
            units.COUNT: self._counted,
            units.ENTERED: self.entered.add,
            units.OWN: self._asserting,
            units.OWN_CONTEXT: self._count_context,
        }
        self.offered = {name: item for name, item in names.items()}
        _count_test_cases(self._counted)

    # -- counting ----------------------------------------

    def _counted(self) -> None:
        self.count += 1

    def _asserting(self, function: Any) -> Any:
        """A function whose calls are assertions; not one of the program, and not twice."""
        parts = (function, getattr(function, "__self__", None), getattr(function, "__func__", None))
        if any(isinstance(part, (Remote, RemoteType)) for part in parts):
            return function
        if isinstance(getattr(function, "__self__", None), unittest.TestCase) and hasattr(function, _COUNTED):
            return function

        def call(*args: Any, **keywords: Any) -> Any:
            result = function(*args, **keywords)
            if not hasattr(result, "__exit__"):
                self.count += 1
            return result

        return call

    def _count_context(self, context: Any) -> None:
        if not isinstance(context, Remote):
            self.count += 1

    # -- running ----------------------------------------

    def run(self) -> str | None:
        """Run everything; returns why it failed, or None."""
        module = types.ModuleType("__main__")
        module.__dict__.update(self.names)
        self.names = module.__dict__
        if self._module is not None:
            self.names = _Namespace(module.__dict__, self._module.__dict__, self._rebound)
            module = _Main(self.names)
        sys.modules["__main__"] = module
        try:
            why = self._run_script()
            if why is None:
                self._run_pytest()
                why = self._run_cases()
        except SystemExit:
            return "exit"
        except AssertionError:
            return "assertion"
        except unittest.SkipTest:
            return "skip"
        return why or self._not_entered()

    def refresh(self, changed: dict[str, Any]) -> None:
        """Take over global values of the program that have changed, where the tests have not bound the name anew."""
        for name, item in changed.items():
            if name in self.offered:
                for names in (self.names, *(vars(each) for each in self._stand_ins())):
                    if name in names and names[name] is self.offered[name]:
                        names[name] = item
                self.offered[name] = item

    def _stand_ins(self) -> list[types.ModuleType]:
        return [sys.modules[name] for name in self._unit.imports.modules if name in sys.modules]

    def _run_script(self) -> str | None:
        try:
            exec(self._unit.code, self.names)
        except SystemExit as ending:
            if ending.code not in (None, 0) or not self._own_exit(ending):
                return "exit"
        return None

    def _own_exit(self, ending: SystemExit) -> bool:
        """Whether the test code ended itself, by a statement that says so, and nothing else had a hand in it."""
        frames = [(entry.filename, entry.lineno) for entry in traceback.extract_tb(ending.__traceback__)[1:]]
        own = [line for name, line in frames if name == TESTS_FILE]
        strange = [name for name, _ in frames if name != TESTS_FILE and "_sitebuiltins" not in name]
        return not strange and bool(own) and own[-1] in self._unit.exits

    def _run_pytest(self) -> None:
        names = [name for name in self._unit.tests.defined if "." not in name]
        own = [n for n, item in self.names.items() if n.startswith("test") and pytest_run.is_own_function(item)]
        functions = [name for name in dict.fromkeys([*own, *names]) if self._is_test(name)]
        classes = [
            item
            for item in list(self.names.values())
            if self._is_own_class(item) and item.__name__.startswith("Test") and not _is_case(item)
        ]
        runnable = [case for case in dict.fromkeys(classes) if _can_make(case)]
        runner = pytest_run.Runner(self.names, entered=self.entered, defined=self._unit.tests.defined.keys())
        runner.run(functions, runnable)

    def _is_test(self, name: str) -> bool:
        item = self.names.get(name)
        if name in self._unit.tests.excused and not callable(item):
            return False
        return item is not None and not hasattr(item, pytest_shim.FIXTURE) and not hasattr(item, "__unittest_skip__")

    def _is_own_class(self, item: Any) -> bool:
        return isinstance(item, type) and type(item) is not RemoteType and item.__module__ == "__main__"

    def _run_cases(self) -> str | None:
        cases = [item for item in list(self.names.values()) if self._is_own_class(item) and _is_case(item)]
        for case in dict.fromkeys(cases):
            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
            if not result.wasSuccessful():
                return "assertion" if result.failures else "error"
            if not all(self._is_excused(test) for test, _ in result.skipped):
                return "skip"
        return None

    def _is_excused(self, test: Any) -> bool:
        """Whether a test of a TestCase was skipped by a mark of its own, and not in its course."""
        test = getattr(test, "test_case", test)
        name = getattr(test, "_testMethodName", "")
        return any(f"{base.__qualname__}.{name}" in self._unit.tests.excused for base in type(test).__mro__)

    def _not_entered(self) -> str | None:
        missing = self._unit.tests.defined.keys() - self.entered - self._unit.tests.excused
        return "not_run" if missing else None


def _is_case(item: type) -> bool:
    return issubclass(item, unittest.TestCase)


def _can_make(case: type) -> bool:
    """Whether pytest would collect the class: its constructor needs nothing."""
    try:
        case()
    except TypeError:
        return False
    except Exception:
        return True  # the tests will say so
    return True


def _module(path: str) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module(path)
    return None


_COUNTED = "__assay_counted__"


def _count_test_cases(counted: Callable[[], None]) -> None:
    """Count the assertions of TestCases where test code calls them, and run what tests return as coroutines."""
    for name in dir(unittest.TestCase):
        method = getattr(unittest.TestCase, name)
        if name.startswith("assert") and isinstance(method, types.FunctionType):
            setattr(unittest.TestCase, name, _counting(method, counted))
    unittest.TestCase._callTestMethod = lambda self, method: pytest_run.finished(method())  # type: ignore[attr-defined]


def _counting(method: Any, counted: Callable[[], None]) -> Any:
    @functools.wraps(method)
    def call(*args: Any, **keywords: Any) -> Any:
        result = method(*args, **keywords)
        if result is None and sys._getframe(1).f_code.co_filename == TESTS_FILE:
            counted()
        return result

    setattr(call, _COUNTED, True)
    return call
