"""The tests' end: run a row's test code against a program in another jail, and say whether it passed.

The program's names appear as proxies over a relay. Assertions are counted by the instrumented code:
none executed is no pass. TestCase classes and `test_*` functions run even if the script does not run
them; a skip is no pass. The verdict goes to the host alone, on a pipe that the program never sees.
Where a row says `trust: low`, tests run in the program's own process.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
import traceback
import types
import unittest
from collections.abc import Iterator
from typing import Any

from assay.sandbox.guest import calls, program, pytest_shim, relay, stdtypes, values

VERDICT_FD, READ_FD, WRITE_FD = 3, 4, 5
_COUNT, _CALLED = "__assay_count__", "__assay_called__"
_PACKAGES = frozenset(
    ("numpy", "pandas", "scipy", "sympy", "sklearn", "torch", "tensorflow", "matplotlib", "networkx", "requests",
     "yaml", "bs4", "lxml", "PIL", "cv2", "hypothesis", "dateutil", "pytz", "nltk", "jax", "flask", "django")
)  # fmt: skip
"""Packages that test code means by these names: where the environment lacks one, the row is at fault."""
Head = dict[str, Any]


class Counting(ast.NodeTransformer):
    """Adds a count after every assertion, and a mark at the start of module-level `test_*` functions."""

    def visit_Assert(self, node: ast.Assert) -> Any:
        """Count an assert statement once it has passed."""
        return [node, _call(_COUNT, node)]

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Count `self.assertEqual(…)`, `np.testing.assert_allclose(…)` and the like."""
        if isinstance(node.value, ast.Call) and _callee(node.value).startswith("assert"):
            return [node, _call(_COUNT, node)]
        return node

    def visit_With(self, node: ast.With) -> Any:
        """Count `with pytest.raises(…)` and `with self.assertRaises(…)`."""
        self.generic_visit(node)
        contexts = [item.context_expr for item in node.items]
        names = [_callee(context) for context in contexts if isinstance(context, ast.Call)]
        if any(name.startswith("assert") or name in ("raises", "warns") for name in names):
            return [node, _call(_COUNT, node)]
        return node


def _callee(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _call(name: str, where: ast.AST, *args: ast.expr) -> ast.Expr:
    node = ast.Expr(ast.Call(ast.Name(name, ast.Load()), list(args), []))
    return ast.fix_missing_locations(ast.copy_location(node, where))


class Unit:
    """Test code made ready: counting code, what it needs of the program, modules that stand for it."""

    def __init__(self, text: bytes) -> None:
        """Raises `SyntaxError`, `ValueError` or `RecursionError` if the text is no Python."""
        tree = ast.parse(text, relay.TESTS_FILE)
        nodes = list(ast.walk(tree))
        self.modules = {name for node in nodes for name in _unknown_modules(node)}
        bound = {name for node in tree.body for name in _bound(node)}
        loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        imported = {name for node in nodes for name in _taken_from(node, self.modules)}
        self.wanted = {
            name for name in (loaded - bound) | imported
            if not hasattr(builtins, name) and not (name.startswith("__") and name.endswith("__"))
        }  # fmt: skip
        self.exits = {line for node in nodes for line in _exits(node)}
        tree = Counting().visit(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                node.body.insert(0, _call(_CALLED, node.body[0], ast.Constant(node.name)))
        self.code = compile(ast.fix_missing_locations(tree), relay.TESTS_FILE, "exec", dont_inherit=True)


def _exits(node: ast.AST) -> range:
    """Lines on which the test code itself asks to end: `exit()`, `sys.exit()`, `raise SystemExit`."""
    if isinstance(node, ast.Call):
        asks = ast.unparse(node.func) in ("exit", "quit", "sys.exit")
    elif isinstance(node, ast.Raise):
        asks = node.exc is not None and ast.unparse(node.exc).startswith("SystemExit")
    else:
        return range(0)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1) if asks else range(0)


def _unknown_modules(node: ast.AST) -> Iterator[str]:
    """Modules that the tests import and that nobody has: they mean the program (`from solution import f`)."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    for name in names:
        if name not in sys.modules and importlib.util.find_spec(name.partition(".")[0]) is None:
            yield name


def _taken_from(node: ast.AST, modules: set[str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module in modules:
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.attr


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


class Session:
    """One run of test code: its namespace and its counts."""

    def __init__(self, names: dict[str, Any], exits: set[int]) -> None:
        self.count = 0
        self._exits = exits
        self.called: set[str] = set()
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, **names}
        self.names.update({_COUNT: self._counted, _CALLED: self.called.add})

    def _counted(self) -> None:
        self.count += 1

    def run(self, code: types.CodeType) -> str | None:
        """Run everything; returns why it failed, or None."""
        module = types.ModuleType("__main__")
        module.__dict__.update(self.names)
        self.names = module.__dict__
        sys.modules["__main__"] = module
        try:
            try:
                exec(code, self.names)
            except SystemExit as ending:
                if ending.code not in (None, 0) or not self._own_exit(ending):
                    return "exit"
            self._run_functions()
        except SystemExit:
            return "exit"
        except AssertionError:
            return "assertion"
        except unittest.SkipTest:
            return "skip"
        return self._run_cases()

    def _own_exit(self, ending: SystemExit) -> bool:
        """Whether the test code ended itself, by a statement that says so, and nothing else had a hand in it."""
        frames = [(entry.filename, entry.lineno) for entry in traceback.extract_tb(ending.__traceback__)[1:]]
        own = [line for name, line in frames if name == relay.TESTS_FILE]
        strange = [name for name, _ in frames if name != relay.TESTS_FILE and "_sitebuiltins" not in name]
        return not strange and bool(own) and own[-1] in self._exits

    def _run_functions(self) -> None:
        for name, item in list(self.names.items()):
            if name.startswith("test") and isinstance(item, types.FunctionType) and name not in self.called:
                pytest_shim.run_function(item, self.names)

    def _run_cases(self) -> str | None:
        cases = [item for item in self.names.values() if isinstance(item, type)]
        for case in cases:
            if issubclass(case, unittest.TestCase) and case.__module__ == "__main__":
                result = unittest.TestResult()
                unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
                if not result.wasSuccessful():
                    return "assertion" if result.failures else "error"
            elif case.__name__.startswith("Test") and case.__module__ == "__main__":
                try:
                    pytest_shim.run_class(case, self.names)
                except AssertionError:
                    return "assertion"
        return None


def run(head: Head, blobs: list[bytes]) -> int:
    """Judge one unit of test code; the verdict goes to the host. Returns the exit code."""
    sys.setrecursionlimit(5000)
    pytest_shim.install()
    try:
        unit = Unit(blobs[0])
    except (SyntaxError, ValueError, RecursionError):
        return _conclude({"invalid": True})
    if lacking := sorted({name.partition(".")[0] for name in unit.modules} & _PACKAGES):
        return _conclude({"lacking": lacking[0]})
    unittest.main = lambda *args, **keywords: None  # type: ignore[assignment]
    if head.get("low_trust"):
        return _judge_together(head, blobs[1:], unit)
    peer = relay.Peer(READ_FD, WRITE_FD, trusting=False, own_module="__main__")
    try:
        _tell(b"ready\n")  # all that is the row's doing is done, and the program has not started
        peer.send({"want": sorted(unit.wanted)})
        hello = peer.receive()
        if "names" not in hello:
            return _conclude({"passed": False, "why": "load"})
        session = Session(_proxies(peer, hello["names"], unit.wanted), unit.exits)
        _stand_in(unit, session.names)
    except (relay.PeerGone, ValueError, KeyError, TypeError, AttributeError):
        return _conclude({"passed": False, "why": "gone"})
    return _conclude(_verdict(session, unit.code, peer))


def _verdict(session: Session, code: types.CodeType, peer: relay.Peer | None) -> dict[str, Any]:
    try:
        why = session.run(code)
    except relay.PeerGone:
        why = "gone"
    except SystemExit:
        why = "exit"
    except Exception:
        why = "error"
    lied = peer is not None and peer.lied
    if why is None and (session.count == 0 or lied):
        why = "lied" if lied else "nothing_checked"
    return {"passed": why is None, "why": why, "count": session.count, "lied": lied}


def _proxies(peer: relay.Peer, offers: Any, wanted: set[str]) -> dict[str, Any]:
    """What the program offers of what the tests asked for; whatever else it sends is ignored."""
    names = {}
    for offer in offers:
        name = offer["name"]
        if not isinstance(name, str) or name not in wanted or name in names:
            continue
        if "class" in offer:
            number, _, label = offer["class"]
            names[name] = peer.import_class(str(label), number, offer["bases"], offer["raised"])
        elif "namedtuple" in offer:
            names[name] = stdtypes.namedtuple_class(*offer["namedtuple"])
        elif "shared" in offer:
            names[name] = stdtypes.resolve_shared(offer["shared"], name)
        else:
            names[name] = peer.decode(offer["value"])
    return names


def _stand_in(unit: Unit, names: dict[str, Any]) -> None:
    """Let the modules that stand for the program be imported."""
    for name in unit.modules:
        module = types.ModuleType(name)
        module.__dict__.update({key: item for key, item in names.items() if not key.startswith("__")})
        sys.modules[name] = module


def _judge_together(head: Head, blobs: list[bytes], unit: Unit) -> int:
    """`trust: low`: the program's own names, in this process; the verdict can be forged."""
    try:
        module, given = calls.load(head, blobs, extra={})
    except BaseException as error:
        program.report(error)
        return _conclude({"passed": False, "why": "load"})
    names = {name: item for name, item in module.__dict__.items() if name not in given}
    session = Session(names, unit.exits)
    _stand_in(unit, names)
    return _conclude(_verdict(session, unit.code, None))


def _tell(data: bytes) -> None:
    os.write(VERDICT_FD, data)


def _conclude(verdict: dict[str, Any]) -> int:
    _tell(values.json_dumps(verdict).encode() + b"\n")
    return 0
