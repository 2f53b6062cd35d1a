"""The tests that a text defines, read from the text alone: which must run, which say themselves that they do not.

A test that pytest would run and that cannot be run here makes the row void, before the program starts: an unknown
fixture, a name that our pytest lacks, a test that yields, a class of tests whose constructor needs arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

FIXTURES = frozenset({"request", "capsys", "capfd", "caplog", "recwarn"})
"""Fixtures of pytest that there are here."""
TOGETHER = frozenset({"monkeypatch", "tmp_path", "tmp_path_factory"})
"""Those that there are where tests and program share a process."""
_NAMES = """
raises approx fixture yield_fixture mark param fail skip xfail importorskip main warns deprecated_call exit
FixtureRequest CaptureFixture LogCaptureFixture ExceptionInfo Function Item
"""
NAMES = frozenset(_NAMES.split())
"""Names of pytest that there are here."""
NAMES_TOGETHER = NAMES | {"MonkeyPatch", "TempPathFactory"}
"""Those that there are where tests and program share a process."""
_SKIPS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Tests:
    """`defined`: tests by qualified name. `excused`: those whose own marks may keep them from running."""

    def __init__(self, tree: ast.Module, *, free: set[str], together: bool = False) -> None:
        self._free = free
        self._loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
            node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
        }
        self._deleted = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
        }
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._fixtures = (
            FIXTURES
            | (TOGETHER if together else set())
            | {name for node in ast.walk(tree) if isinstance(node, Function) for name in _fixture_names(node)}
        )
        self.defined: dict[str, Function] = {}
        self.excused: set[str] = set()
        self.lacking = _missing_name(tree, NAMES_TOGETHER if together else NAMES)
        self._collect(tree.body, "", excused=False, methods=False)

    def mark(self, make: Callable[[ast.AST, str], ast.stmt]) -> None:
        """Put `make(node, name)` at the start of every test."""
        for name, node in self.defined.items():
            documented = bool(ast.get_docstring(node, clean=False))
            node.body.insert(int(documented), make(node.body[0], name))

    def _collect(self, body: list[ast.stmt], prefix: str, *, excused: bool, methods: bool) -> None:
        latest = {
            node.name: node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }
        for name, node in latest.items():
            if name in self._deleted and not prefix:
                continue
            skipped = excused or self._is_excused(node)
            if isinstance(node, ast.ClassDef):
                if self._is_collected(node):
                    self._refuse_constructor(node)
                    self._collect(node.body, f"{prefix}{name}.", excused=skipped, methods=True)
            elif name.startswith("test") and not list(_fixture_names(node)):
                self._add(f"{prefix}{name}", node, skipped=skipped, method=methods)

    def _add(self, name: str, node: Function, *, skipped: bool, method: bool) -> None:
        self.defined[name] = node
        if skipped:
            self.excused.add(name)
        if any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in _own_nodes(node)):
            self.lacking = self.lacking or "tests that yield"
        unknown = self._unknown_fixtures(node, method=method)
        if unknown and node.name not in self._loaded and not skipped:
            low = "`trust: low` for " if unknown[0] in TOGETHER else ""
            self.lacking = self.lacking or f"{low}the fixture {unknown[0]}"

    def _unknown_fixtures(self, node: Function, *, method: bool) -> list[str]:
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if any(not text.startswith(("pytest.mark.", "mark.", "staticmethod", "classmethod")) for text in decorators):
            return []  # who knows what it is called with
        known = self._fixtures | {word for text in decorators for word in _words(text)}
        arguments = [*node.args.posonlyargs, *node.args.args][: len(node.args.args) - len(node.args.defaults)]
        names = [each.arg for each in arguments]
        if method and "staticmethod" not in decorators:
            names = names[1:]
        return [name for name in names if name not in known and name not in self._class_words]

    @property
    def _class_words(self) -> set[str]:
        return {
            word
            for node in self._classes.values()
            for each in node.decorator_list
            for word in _words(ast.unparse(each))
        }

    def _is_collected(self, node: ast.ClassDef) -> bool:
        return node.name.startswith("Test") or self._is_case(node)

    def _is_case(self, node: ast.ClassDef, depth: int = 0) -> bool:
        for base in node.bases:
            text = ast.unparse(base)
            if text.endswith("TestCase"):
                return True
            if depth < 20 and text in self._classes and self._is_case(self._classes[text], depth + 1):
                return True
        return False

    def _refuse_constructor(self, node: ast.ClassDef) -> None:
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__" and not self._is_case(node):
                needs = len(item.args.args) - len(item.args.defaults) > 1
                if needs and node.name not in self._loaded and any(_is_test(inner) for inner in node.body):
                    self.lacking = self.lacking or "a class of tests whose constructor needs arguments"

    def _is_excused(self, node: ast.ClassDef | Function) -> bool:
        for each in node.decorator_list:
            function = each.func if isinstance(each, ast.Call) else each
            if ast.unparse(function).rpartition(".")[2] in _SKIPS:
                names = {inner.id for inner in ast.walk(each) if isinstance(inner, ast.Name)}
                if not names & self._free:
                    return True
        return False


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def _fixture_names(node: Function) -> Iterator[str]:
    for each in node.decorator_list:
        text = ast.unparse(each)
        if text.partition("(")[0].rpartition(".")[2] in ("fixture", "yield_fixture"):
            yield node.name
            for keyword in each.keywords if isinstance(each, ast.Call) else ():
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    yield str(keyword.value.value)


def _words(text: str) -> set[str]:
    return set("".join(char if char.isalnum() or char == "_" else " " for char in text).split())


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def _missing_name(tree: ast.Module, provided: frozenset[str]) -> str | None:
    """A name of pytest that the tests use and that there is not."""
    known = {"pytest"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname for alias in node.names if alias.name == "pytest" and alias.asname}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "pytest" and not node.level:
            names = [alias.name for alias in node.names if alias.name != "*"]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            names = [node.attr]
        for name in names:
            if name not in provided:
                return f"{'`trust: low` for ' if name in NAMES_TOGETHER else ''}pytest.{name}"
    return None
