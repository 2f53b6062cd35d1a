"""Degenerate completions, which solve nothing and must not be rewarded on any row.

Rows for which doing nothing is right (`no_call`) get no such completion, nor do rows that only shape (no `score`).
"""

from __future__ import annotations

import ast
import builtins
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.datasets.audit.golds import arguments, expectation, expected_calls, message, verifier_of

Row = Mapping[str, Any]
_LETTERS = "A, B, C, D, E"
_SPAM = "".join(f"\\boxed{{{n}}} <answer>{n}</answer> " for n in [*"ABCDE", *range(-20, 101), 31337])
"""Many answers, the last of which is correct for no row."""
_JSON_ANSWERS = ("{}", "[]", "null", "0", '""', "true")
_PROGRAMS = {
    "exit(0)": "import sys\nsys.exit(0)",
    "os._exit(0)": "import os\nos._exit(0)",
    "raise": "raise Exception('no')",
    "prints nothing": "pass",
    "echoes its input": "import sys\nprint(sys.stdin.read())",
    "prints 0": "print(0)",
    "prints YES": "print('YES')",
    "prints NO": "print('NO')",
}
_BODIES = {
    "returns nothing": "return None",
    "returns its argument": "return a[0] if a else None",
    "raises": "raise Exception('no')",
    "exits": "import sys\n    sys.exit(0)",
    "returns what equals all": 'return type("E", (), {"__eq__": lambda s, o: True, "__bool__": lambda s: True})()',
}
_STUBS = {**_BODIES, "returns true": "return True"}
_LONGEST_TESTS = 200_000


def degenerate_completions(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield (name, completion) for each degenerate completion that applies to the row's verifier."""
    name, reference = verifier_of(row), row.get("reference")
    if not isinstance(reference, Mapping) or name == "given":
        return
    if name == "code":
        yield from _programs(reference)
        return
    if name == "tool":
        yield from _callers(reference)
        if expectation(reference).get("no_call"):
            return
    if name == "schema":
        yield from ((f"says {text}", text) for text in _JSON_ANSWERS)
    yield "says nothing", ""
    yield "does nothing", "I am sorry, I cannot help with that."
    if prompt := prompt_text(row.get("prompt")):
        yield "echoes the prompt", prompt
    yield "all letters", _LETTERS
    yield "answer spam", _SPAM


def prompt_text(prompt: Any) -> str:
    """Return the text of a prompt or of its messages."""
    if isinstance(prompt, str):
        return prompt
    if not isinstance(prompt, list):
        return ""
    said = [m.get("content") for m in prompt if isinstance(m, Mapping)]
    return "\n".join(text for text in said if isinstance(text, str))


def _programs(reference: Row) -> Iterator[tuple[str, str]]:
    if reference.get("language") != "python":
        yield "says nothing", ""
        return
    whole = reference.get("extract") == "whole"
    sources = {**_PROGRAMS, **_constant(reference)} if reference.get("mode") == "stdio" else _functions(reference)
    for what, source in {"says nothing": "", **sources}.items():
        yield what, source if whole or not source else f"```python\n{source}\n```"


def _constant(reference: Row) -> dict[str, str]:
    """Return a program that prints the most frequent expected output, if there are several tests."""
    tests = reference.get("tests")
    wanted = [str(t.get("expected_stdout")) for t in tests if isinstance(t, Mapping)] if isinstance(tests, list) else []
    most, count = Counter(wanted).most_common(1)[0] if len(wanted) > 1 else ("", 0)
    return {"prints the usual output": f"print({most!r}, end='')"} if count == len(wanted) and len(most) < 1000 else {}


def _functions(reference: Row) -> dict[str, str]:
    """Return functions under the names that tests call; for asserts only programs that define nothing are possible."""
    tests = reference.get("tests")
    names = {str(t.get("entry_point")) for t in tests if isinstance(t, Mapping)} if isinstance(tests, list) else set()
    if reference.get("mode") != "function":
        return {name: _PROGRAMS[name] for name in ("exit(0)", "os._exit(0)", "raise", "prints nothing")}
    return {what: _defined(names, body) for what, body in {**_BODIES, **_usual_value(tests)}.items()}


def _defined(names: Iterable[str], body: str) -> str:
    """Return functions of these names with one body."""
    return "\n".join(f"def {name}(*a, **k):\n    {body}" for name in sorted(names))


def _usual_value(tests: Any) -> dict[str, str]:
    """Return the body of a function that returns the value which all of several tests expect."""
    wanted = [test.get("expected") for test in tests if isinstance(test, Mapping)] if isinstance(tests, list) else []
    text = json.dumps(wanted[0]) if wanted else ""
    if len(wanted) < 2 or len(text) > 1000 or any(json.dumps(other) != text for other in wanted):
        return {}
    return {"returns the usual value": f"import json\n    return json.loads({text!r})"}


def stubs(row: Row) -> Iterator[tuple[str, str]]:
    """Yield programs that define what the assertions call and compute nothing."""
    reference = row.get("reference")
    if verifier_of(row) != "code" or not isinstance(reference, Mapping) or reference.get("mode") != "asserts":
        return
    names = _called(reference.get("tests")) if reference.get("language") == "python" else set()
    for what in ("returns nothing", "returns its argument", "returns true") if names else ():
        source = _defined(names, _STUBS[what])
        yield f"a stub that {what}", source if reference.get("extract") == "whole" else f"```python\n{source}\n```"


def _called(tests: Any) -> set[str]:
    """Return the names that the tests call without defining or importing them."""
    called, bound = set[str](), set(dir(builtins))
    for test in tests if isinstance(tests, list) else ():
        source = str(test.get("test_code")) if isinstance(test, Mapping) else ""
        try:
            nodes = list(ast.walk(ast.parse(source[:_LONGEST_TESTS])))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
        called |= {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        bound |= {name for node in nodes for name in _bound(node)}
    return called - bound


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def _callers(reference: Row) -> Iterator[tuple[str, Any]]:
    """Yield calls of every tool without arguments, unless that may be the right answer."""
    if any(arguments(args) in ({}, None) for _, args in expected_calls(reference) or ()):
        return
    tools = reference.get("tools")
    names = [
        str(tool.get("name") or (tool.get("function") or {}).get("name"))
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, Mapping)
    ]
    if names:
        yield "calls everything", [message([(name, {}) for name in names])]
        if len(names) > 1:
            yield "calls the first tool", [message([(names[0], {})])]
