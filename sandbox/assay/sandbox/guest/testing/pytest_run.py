"""Runs pytest-style tests: functions, classes with what they inherit and nest, fixtures, parameters, marks.

Fixtures are made once in their scope (function, class; module and wider are one) and end with it, newest first.
Coroutines that tests or fixtures return are run. A test that a mark skips is left out; one that raises SkipTest,
whatever made it do so, has not passed.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import types
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.sandbox.guest.testing import imports
from assay.sandbox.guest.testing.pytest_builtin import BUILTIN
from assay.sandbox.guest.testing.pytest_shim import FIXTURE, MARKS, Fixture, Mark, Param
from assay.sandbox.guest.testing.pytest_together import TOGETHER

Names = dict[str, Any]
_PROVIDED = {**BUILTIN, **TOGETHER}
_WIDE = frozenset({"module", "package", "session"})


def is_own_function(item: Any) -> bool:
    """Return whether it is a function, and not one of the program that the tests have given another name."""
    return type(item) is types.FunctionType and item.__module__ != imports.PROGRAM


def finished(result: Any) -> Any:
    """What a call gave; a coroutine is run to its end."""
    if inspect.iscoroutine(result):
        return importlib.import_module("asyncio").run(result)
    return result


@dataclass
class Scope:
    """Fixtures that live together, and what ends them."""

    stack: contextlib.ExitStack
    made: dict[Any, Any] = field(default_factory=dict)


@dataclass
class TestContext:
    """Where a test is: the class and instance of its own, its scopes, the parameters of its fixtures."""

    scopes: dict[str, Scope]
    case: type | None = None
    instance: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    test: Any = None


class Request:
    """The fixture `request`."""

    def __init__(self, run: Runner, context: TestContext, scope: Scope, name: str) -> None:
        self._run, self._context, self._scope = run, context, scope
        self.function, self.cls, self.instance = context.test, context.case, context.instance
        if name in context.params:
            self.param = context.params[name]

    def addfinalizer(self, end: Callable[[], Any]) -> None:
        """Call `end` when the fixture ends."""
        self._scope.stack.callback(end)

    def getfixturevalue(self, name: str) -> Any:
        """The value of another fixture."""
        return self._run.value(name, self._context)


class Runner:
    """Runs the tests of one module's names."""

    def __init__(self, names: Names, *, entered: set[str], defined: Collection[str]) -> None:
        self._names, self._entered, self._defined = names, entered, defined
        self._makers: dict[str, Any] = dict(_fixtures(names))
        self._module = Scope(contextlib.ExitStack())

    def run(self, functions: list[str], classes: list[type]) -> None:
        """Run everything; the first failure ends it."""
        with self._module.stack:
            _hook(self._names.get("setup_module"), None)
            try:
                for name in functions:
                    if name not in self._entered:
                        self._function(self._names[name])
                for case in classes:
                    self.run_class(case)
            finally:
                _hook(self._names.get("teardown_module"), None)

    def _function(self, test: Any) -> None:
        _hook(self._names.get("setup_function"), test)
        self._rows(test, TestContext({"module": self._module}), [])
        _hook(self._names.get("teardown_function"), test)

    def run_class(self, case: type, outer: list[Any] | None = None) -> None:
        """Run the tests of a class: its own, inherited and static ones, and those of classes inside it."""
        marks = [*(outer or ()), *getattr(case, MARKS, ())]
        if _skips(marks):
            return
        own = dict(_fixtures({name: _plain(case, name) for name in dir(case)}))
        previous, self._makers = self._makers, {**self._makers, **own}
        scope = Scope(contextlib.ExitStack())
        try:
            with scope.stack:
                _hook(getattr(case, "setup_class", None), case)
                for name in _members(case):
                    self._member(case, name, scope, marks)
                _hook(getattr(case, "teardown_class", None), case)
        finally:
            self._makers = previous

    def _member(self, case: type, name: str, scope: Scope, marks: list[Any]) -> None:
        member = getattr(case, name)
        if isinstance(member, type):
            if name.startswith("Test"):
                self.run_class(member, marks)
            return
        if not name.startswith("test") or hasattr(_plain(case, name), FIXTURE):
            return
        if not is_own_function(_plain(case, name)) and not self._is_defined(case, name):
            return  # a value, or a function of the program
        if self._was_called_with_more(member):
            return
        self._rows(member, TestContext({"module": self._module, "class": scope}, case=case), marks, name=name)

    def _is_defined(self, case: type, name: str) -> bool:
        """Whether the text has that test, whatever a decorator has made of it."""
        return any(f"{base.__qualname__}.{name}" in self._defined for base in case.__mro__)

    def _was_called_with_more(self, member: Any) -> bool:
        """Whether the script has called a method itself, with arguments that no fixture could give."""
        if getattr(member, "__qualname__", "") not in self._entered or bool(getattr(member, MARKS, None)):
            return False
        return any(name not in self._makers and name not in _PROVIDED for name in _parameters(member))

    def _rows(self, test: Any, context: TestContext, marks: list[Any], *, name: str = "") -> None:
        """Run a test for each row of its tables and each parameter of its fixtures."""
        marks = [*_of_module(self._names), *marks, *getattr(test, MARKS, ())]
        if _skips(marks):
            return
        for given, indirect, row_marks in _combinations(marks):
            if _skips(row_marks):
                continue
            for params in self._fixture_params(test, context, given, indirect, marks):
                with _tolerating([*marks, *row_marks]):
                    self._one(test, context, dict(given), {**indirect, **params}, marks, name=name)

    def _one(
        self, test: Any, context: TestContext, given: Names, params: Names, marks: list[Any], *, name: str
    ) -> None:
        scope = Scope(contextlib.ExitStack())
        here = TestContext({**context.scopes, "function": scope}, case=context.case, params=params, test=test)
        with scope.stack:
            if context.case is not None:
                here.instance = context.case()
                test = getattr(here.instance, name)
                for hook in ("setup_method", "setup", "setUp"):
                    if not hasattr(_plain(context.case, hook), FIXTURE):
                        _hook(getattr(here.instance, hook, None), test)
                scope.stack.callback(_hook, getattr(here.instance, "teardown_method", None), test)
            for fixture in self._automatic(marks):
                self.value(fixture, here)
            wanted = [each for each in _parameters(test) if each not in given]
            given.update({each: self.value(each, here) for each in wanted})
            finished(test(**given))

    def _automatic(self, marks: list[Any]) -> Iterator[str]:
        for name, maker in self._makers.items():
            if getattr(maker, FIXTURE).autouse:
                yield name
        for mark in marks:
            if mark.name == "usefixtures":
                yield from mark.args

    def _fixture_params(
        self, test: Any, context: TestContext, given: Names, indirect: Names, marks: list[Any]
    ) -> Iterator[Names]:
        """Every combination of the parameters of the fixtures that a test needs."""
        needed, tables = [*self._automatic(marks), *(n for n in _parameters(test) if n not in given)], {}
        for name in needed:
            maker = self._makers.get(name)
            if maker is None:
                continue
            needed += [each for each in _parameters(maker) if each not in needed and each != name]
            if getattr(maker, FIXTURE).params and name not in indirect:
                tables[name] = getattr(maker, FIXTURE).params
        for values in itertools.product(*tables.values()):
            plain = (value[0] if isinstance(value, Param) else value for value in values)
            yield dict(zip(tables, plain, strict=True))

    def value(self, name: str, context: TestContext) -> Any:
        """The value of a fixture, made if its scope has none yet."""
        maker = self._makers.get(name)
        if maker is None:
            return self._builtin(name, context)
        wide = getattr(maker, FIXTURE).scope
        key = "module" if wide in _WIDE else wide if wide in context.scopes else "function"
        scope, param = context.scopes[key], context.params.get(name)
        known = (name, repr(param)) if key != "function" else name
        if known not in scope.made:
            scope.made[known] = self._make(name, maker, context, scope)
        return scope.made[known]

    def _builtin(self, name: str, context: TestContext) -> Any:
        scope = context.scopes["function"]
        if name == "request":
            return Request(self, context, scope, "")
        if name not in _PROVIDED:
            raise LookupError("no such fixture")
        if name not in scope.made:
            scope.made[name] = _PROVIDED[name](scope.stack)
        return scope.made[name]

    def _make(self, name: str, maker: Any, context: TestContext, scope: Scope) -> Any:
        needs = {
            each: Request(self, context, scope, name) if each == "request" else self._needed(each, name, context)
            for each in _parameters(maker)
        }
        if context.instance is not None and hasattr(_plain(context.instance, maker.__name__), FIXTURE):
            maker = getattr(context.instance, maker.__name__)
        made = maker(**needs)
        if inspect.isgenerator(made):
            value = next(made)
            scope.stack.callback(next, made, None)
            return value
        if inspect.isasyncgen(made):
            raise LookupError("asynchronous fixtures that yield")
        return finished(made)

    def _needed(self, each: str, name: str, context: TestContext) -> Any:
        if each == name:
            raise LookupError("a fixture that needs itself")
        return self.value(each, context)


def _fixtures(names: Names) -> Iterator[tuple[str, Any]]:
    for name, item in list(names.items()):
        said = getattr(item, FIXTURE, None) if type(item) is types.FunctionType else None
        if isinstance(said, Fixture):
            yield said.name or name, item


def _members(case: type) -> list[str]:
    """Names of the members in the order of their definition, inherited ones first."""
    return list(dict.fromkeys(name for base in reversed(case.__mro__[:-1]) for name in vars(base)))


def _plain(thing: Any, name: str) -> Any:
    item = inspect.getattr_static(thing, name, None)
    return item.__func__ if isinstance(item, (staticmethod, classmethod)) else item


def _parameters(test: Any) -> list[str]:
    """Names of the parameters that must be given, without `self`."""
    found = [
        each.name
        for each in inspect.signature(test).parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    patches = [each for each in getattr(test, "patchings", ()) if repr(each.new) == "sentinel.DEFAULT"]
    injected = sum(1 for each in patches if not each.attribute_name)
    return [name for name in found if name not in ("self", "cls")][injected:]


def _of_module(names: Names) -> list[Any]:
    marks = names.get("pytestmark", ())
    found = list(marks) if isinstance(marks, (list, tuple)) else [marks]
    return [mark for mark in found if isinstance(mark, Mark)]


def _skips(marks: list[Any]) -> bool:
    for mark in marks:
        if mark.name == "skip" or (mark.name == "skipif" and mark.args and mark.args[0] is True):
            return True
        if mark.name == "skipif" and mark.args and not isinstance(mark.args[0], str) and mark.args[0]:
            return True
        if mark.name == "xfail" and (mark.keywords or {}).get("run") is False:
            return True
    return False


@contextlib.contextmanager
def _tolerating(marks: list[Any]) -> Iterator[None]:
    """Let a test fail that says it will (`xfail`); strict ones must."""
    mark = next((each for each in marks if each.name == "xfail"), None)
    if mark is None or (mark.args and not mark.args[0]):
        yield
        return
    try:
        yield
    except Exception as error:
        expected = (mark.keywords or {}).get("raises")
        if expected is not None and not isinstance(error, expected):
            raise
    else:
        if (mark.keywords or {}).get("strict"):
            raise AssertionError("passed, and was said to fail")


def _combinations(marks: list[Any]) -> Iterator[tuple[Names, Names, list[Any]]]:
    """Of the tables of `parametrize`: arguments, parameters of fixtures, marks of the rows."""
    tables = [_table(mark) for mark in marks if mark.name == "parametrize"]
    for rows in itertools.product(*tables):
        given, indirect, row_marks = {}, {}, []
        for direct, through, more in rows:
            given.update(direct)
            indirect.update(through)
            row_marks += more
        yield given, indirect, row_marks


def _table(mark: Mark) -> list[tuple[Names, Names, list[Any]]]:
    keywords = mark.keywords or {}
    names = mark.args[0] if mark.args else keywords["argnames"]
    rows = mark.args[1] if len(mark.args) > 1 else keywords["argvalues"]
    split = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    through = keywords.get("indirect", False)
    fixtures = set(split if through is True else through or ())
    table = []
    for row in rows:
        values = tuple(row) if len(split) > 1 or isinstance(row, Param) else (row,)
        given = dict(zip(split, values, strict=True))
        marks = [each for each in getattr(row, "marks", ()) if isinstance(each, Mark)] if type(row) is Param else []
        table.append(
            (
                {name: value for name, value in given.items() if name not in fixtures},
                {name: value for name, value in given.items() if name in fixtures},
                marks,
            )
        )
    return table


def _hook(hook: Any, argument: Any) -> None:
    if callable(hook):
        wants = [each for each in inspect.signature(hook).parameters.values() if each.default is each.empty]
        finished(hook(*([argument] if wants else [])))
