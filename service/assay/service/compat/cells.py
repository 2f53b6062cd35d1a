"""Runs cells of Python one after another in one namespace, as a notebook does. This file runs in the sandbox.

Standard input: {"cells": [text, ...], "cell_s": seconds or null}. What each cell printed, showed and raised is left in
a file, as JSON. A cell that raises ends its own course only; one that runs too long ends all.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import signal
import sys
import traceback
from typing import Any

_FILE = ".assay-cells.json"
_MAX_TEXT = 1 << 20


def _overdue(*_: object) -> None:
    raise TimeoutError("the cell ran too long")


def _run(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last statement if that is an expression."""
    tree = ast.parse(code, "<cell>")
    last = tree.body.pop() if tree.body else None
    if last is not None and not isinstance(last, ast.Expr):
        tree.body.append(last)
        last = None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307


def _shown(value: Any) -> dict[str, str]:
    shown = {"text/plain": repr(value)[:_MAX_TEXT]}
    to_html = getattr(value, "_repr_html_", None)
    if callable(to_html) and isinstance(html := to_html(), str):
        shown["text/html"] = html[:_MAX_TEXT]
    return shown


def _result(code: str, names: dict[str, Any], cell_s: float | None) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    result: dict[str, Any] = {"display": [], "error": []}
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            signal.setitimer(signal.ITIMER_REAL, cell_s or 0)
            value = _run(code, names)
            if value is not None:
                names["_"] = value
                result["display"].append(_shown(value))
    except BaseException as error:
        lines = traceback.format_exception(error)
        result["error"].append({"ename": type(error).__name__, "evalue": str(error), "traceback": lines})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"stdout": out.getvalue()[:_MAX_TEXT], "stderr": err.getvalue()[:_MAX_TEXT], **result}


def main() -> None:
    """Run all cells of the request."""
    asked = json.load(sys.stdin)
    sys.stdin = io.StringIO()
    signal.signal(signal.SIGALRM, _overdue)
    names: dict[str, Any] = {"__name__": "__main__"}
    results = []
    for code in asked["cells"]:
        results.append(_result(code, names, asked["cell_s"]))
        with open(_FILE, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
