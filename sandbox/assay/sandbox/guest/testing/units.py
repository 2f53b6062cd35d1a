"""Prepare test code to run: what counts as an assertion, which names it needs of the program, when it is refused.

Read from the text alone, before the program starts: a row is refused here (`Unit.lacking`) or never. Assertions
are counted where they happen: after an `assert`, after an outermost `assert…` call of something that is the tests'
own, after a context of `raises` and the like, after a statement that would have raised AssertionError or called
`fail`. Each test that the text defines leaves a mark when it is entered; one that never is has not passed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from assay.sandbox.guest.relay.ownership import TESTS_FILE
from assay.sandbox.guest.testing import imports, pytest_static

COUNT, ENTERED, OWN, OWN_CONTEXT = "__assay_count__", "__assay_entered__", "__assay_own__", "__assay_context__"
_CONTEXT = "__assay_with__"
_WORD = re.compile(r"[A-Za-z_]\w{0,60}")
_MAX_WORDS = 5000
_EXPECTING = ("raises", "warns", "deprecated_call")
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Counting(ast.NodeTransformer):
    """Adds counts, and turns relative imports into imports of the program."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.AST]:
        """Count an assert statement once it has passed."""
        self.generic_visit(node)
        return [node, _statement(COUNT, node)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Let `assertEqual(…)`, `np.testing.assert_allclose(…)` and the like be counted by what they are."""
        self.generic_visit(node)
        if _callee(node).startswith("assert") or _callee(node) in _EXPECTING:
            node.func = _call(OWN, node, node.func)
        return node

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.AST]:
        """Count `with pytest.raises(…)` and `with self.assertRaises(…)`."""
        marked = False
        for item in node.items:
            context = item.context_expr
            name = _callee(context) if isinstance(context, ast.Call) else ""
            if name.startswith("assert") or name in _EXPECTING:
                marked = True
                item.context_expr = ast.NamedExpr(ast.Name(_CONTEXT, ast.Store()), context)
        self.generic_visit(node)
        after = _statement(OWN_CONTEXT, node, ast.Name(_CONTEXT, ast.Load()))
        return [node, after] if marked else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        """Count `if f(2) != 2: raise AssertionError`."""
        self.generic_visit(node)
        return [node, _statement(COUNT, node)] if _may_fail(node) else node

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.AST]:
        """Count `try: f() … else: pytest.fail()`."""
        self.generic_visit(node)
        return [node, _statement(COUNT, node)] if _may_fail(node) else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """`from .calc import f` is an import of the program."""
        if node.level:
            node.level, node.module = 0, node.module or imports.PROGRAM
        return node


def _may_fail(node: ast.AST) -> bool:
    """Whether a statement itself raises AssertionError or calls `fail` where something is wrong."""
    for child in _own_nodes(node):
        if isinstance(child, ast.Raise) and child.exc is not None:
            if ast.unparse(child.exc).startswith("AssertionError"):
                return True
        elif isinstance(child, ast.Call) and _callee(child) == "fail":
            return True
    return False


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes below a statement, without those of inner statements that are looked at for themselves."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_NESTED, ast.If, ast.Try)):
            yield child
            yield from _own_nodes(child)


def _callee(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _call(name: str, where: ast.AST, *args: ast.expr) -> ast.Call:
    node = ast.Call(ast.Name(name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(node, where))


def _statement(name: str, where: ast.AST, *args: ast.expr) -> ast.Expr:
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(_call(name, where, *args)), where))


class Unit:
    """Test code made ready: counting code, what it needs of the program, modules that stand for it."""

    def __init__(self, text: bytes, *, together: bool = False) -> None:
        """`together`: tests and program share a process.

        Raises `SyntaxError`, `ValueError` or `RecursionError` if the text is no Python.
        """
        tree = ast.parse(text, TESTS_FILE)
        nodes = list(ast.walk(tree))
        self.imports = imports.Imports(nodes)
        bound = {name for node in tree.body for name in _bound(node)}
        loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        self.own_modules = imports.missing_imports(tree, (loaded | _dotted(nodes)) - bound)
        """Modules that the tests use and forgot to import, by the name they use: never the program's."""
        wanted = (loaded | (_words(nodes) - imports.KNOWN.keys())) - bound - set(self.own_modules)
        self.hiding = {name for name in self.imports.taken if hasattr(builtins, name)}
        """Names that hide a builtin: the program's only where the tests import them from it."""
        self.wanted = {
            name for name in wanted | self.imports.taken | self.imports.attributes if _usable(name, self.hiding)
        }
        self.tests = pytest_static.Tests(tree, free=self.wanted, together=together)
        self.lacking = self.imports.lacking or self.tests.lacking
        """What the tests need and cannot have here, or None."""
        self.exits = {line for node in nodes for line in _exits(node)}
        self.tests.mark(lambda where, name: _statement(ENTERED, where, ast.Constant(name)))
        tree = Counting().visit(tree)
        self.code = compile(ast.fix_missing_locations(tree), TESTS_FILE, "exec", dont_inherit=True)


def _usable(name: str, hiding: set[str]) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return False
    return name in hiding or not hasattr(builtins, name)


def _dotted(nodes: list[ast.AST]) -> set[str]:
    return {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}


def _words(nodes: list[ast.AST]) -> set[str]:
    """Words inside texts: tests that `eval` or look into `globals()` name the program's functions there."""
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found: set[str] = set()
    for text in texts:
        for match in _WORD.finditer(text):
            if len(found) >= _MAX_WORDS:
                return found
            found.add(match.group())
    return found


def _exits(node: ast.AST) -> range:
    """Lines on which the test code itself asks to end: `exit()`, `sys.exit()`, `raise SystemExit`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        asks = ast.unparse(node.value.func) in ("exit", "quit", "sys.exit")
    elif isinstance(node, ast.Raise):
        asks = node.exc is not None and ast.unparse(node.exc).startswith("SystemExit")
    else:
        return range(0)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1) if asks else range(0)


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
