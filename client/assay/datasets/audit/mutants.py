"""Wrong answers made from the gold: each must be refused.

For short answers, calls and JSON a mutant is certainly wrong. For programs it may do the same as the gold, so a
survivor there is worth knowing and no more.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.datasets.audit.golds import arguments, expectation, expected_calls, message, verifier_of, wrapped

Row = Mapping[str, Any]
Mutants = Iterator[tuple[str, Any]]
"""(what was done, completion)."""
_NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_PLAIN_LATEX = re.compile(r"[0-9a-zA-Z\\{}^_+*/.()\s-]+")
_NO_ARITHMETIC = re.compile(r"infty|text|mathrm|mathbf|begin|undefined|none|no|[A-Za-z]{3,}(?<!frac)(?<!sqrt)", re.I)
MAX_PROGRAM_MUTANTS = 4
_FENCE = re.compile(r"```[a-zA-Z0-9+]*\n(.*?)\n```", re.S)


def mutants(row: Row, gold: Any) -> Mutants:
    """Mutants of the row's gold."""
    make = _MAKERS.get(verifier_of(row))
    reference = row.get("reference")
    if make is not None and isinstance(reference, Mapping):
        yield from make(reference, gold)


def certain(row: Row) -> bool:
    """Return whether a mutant of this row's gold is wrong beyond doubt."""
    return verifier_of(row) != "code"


def other_numbers(answer: str) -> Iterator[tuple[str, str]]:
    """Other numbers than this one, written alike."""
    plain = answer.replace(",", "")
    whole, dot, rest = plain.partition(".")
    yield "one more", f"{int(whole) + 1}{dot}{rest}"
    if float(plain) != 0:
        yield "sign flipped", plain[1:] if plain.startswith("-") else "-" + plain.removeprefix("+")
    if int(whole) != 0:
        yield "ten times", f"{whole}0{dot}{rest}"


def _exact(reference: Row, gold: Any) -> Mutants:
    mode, value = reference.get("mode"), reference.get("gold")
    aliases = reference.get("aliases")
    also = {str(alias).strip() for alias in aliases} if isinstance(aliases, list) else set()
    if mode in ("number", "quantity") and _NUMBER.fullmatch(str(value).strip()) and "tol" not in reference:
        for what, text in other_numbers(str(value).strip()):
            if text not in also:
                yield what, wrapped(reference, text, default="whole")
    elif mode == "choice" and isinstance(value, str) and len(value) == 1 and value.isalpha():
        other = next(label for label in "ABC" if label != value.upper() and label not in also)
        yield "another option", wrapped(reference, other, default="choice")
    elif mode in ("set", "list") and isinstance(value, list) and len(value) > 1:
        sep = str(reference.get("sep", ",")) + " "
        yield "a member dropped", wrapped(reference, sep.join(map(str, value[:-1])), default="whole")
    elif mode == "string" and isinstance(value, str):
        yield "a word added", wrapped(reference, f"{value} zebra", default="whole")


def _math(reference: Row, gold: Any) -> Mutants:
    answer = str(reference.get("answer", "")).strip()
    if "tol" in reference:
        return
    if _NUMBER.fullmatch(answer):
        for what, text in other_numbers(answer):
            yield what, wrapped(reference, text)
    elif len(answer) == 1 and answer.isupper() and answer.isalpha():
        yield "another option", wrapped(reference, "B" if answer == "A" else "A")
    elif (
        _PLAIN_LATEX.fullmatch(answer)
        and any(c.isdigit() for c in answer)
        and not _NO_ARITHMETIC.search(
            answer.replace("\\frac", "").replace("\\dfrac", "").replace("\\sqrt", "").replace("\\pi", "")
        )
    ):
        yield "one more", wrapped(reference, f"{answer}+1")


def _tool(reference: Row, gold: Any) -> Mutants:
    calls = expected_calls(reference)
    if not calls or any(arguments(args) is None for _, args in calls):
        return
    made = [(name, arguments(args)) for name, args in calls]
    name, first = made[0]
    if "$ignore" not in json.dumps(calls[0][1]):
        for key in list(first)[:1]:
            if not _may_be_absent(calls[0][1], key):
                yield (
                    "an argument dropped",
                    [message([(name, {k: v for k, v in first.items() if k != key}), *made[1:]])],
                )
        yield "an argument invented", [message([(name, {**first, "zebra_argument": 1}), *made[1:]])]
    yield "the tool renamed", [message([(f"{name}_zebra", first), *made[1:]])]
    if expectation(reference).get("extra_calls", "forbid") == "forbid":
        yield "a call doubled", [message([*made, made[0]])]
    if len(made) > 1:
        yield "a call dropped", [message(made[1:])]
    yield "no call", "I have done it."


def _may_be_absent(pattern: Any, key: str) -> bool:
    value = pattern.get(key) if isinstance(pattern, Mapping) else None
    return isinstance(value, Mapping) and bool({"$optional", "$absent"} & set(value))


def _schema(reference: Row, gold: Any) -> Mutants:
    if isinstance(gold, str):
        yield "cut off", gold.rstrip()[:-1]
        yield "text after it", f"{gold} zebra"


class _Edit(ast.NodeTransformer):
    """Applies the n-th possible change of one kind."""

    def __init__(self, kind: Callable[[ast.AST], ast.AST | None], nth: int) -> None:
        self._kind, self._left, self.done = kind, nth, False

    def visit(self, node: ast.AST) -> Any:
        """Change this node if it is the one."""
        changed = None if self.done else self._kind(node)
        if changed is not None:
            if self._left == 0:
                self.done = True
                return ast.copy_location(changed, node)
            self._left -= 1
        return self.generic_visit(node)


def _off_by_one(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(node.value + 1)
    return None


def _turned(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _OPPOSITE.get(type(node.ops[0]))
        return None if other is None else ast.Compare(node.left, [other()], node.comparators)
    return None


def _swapped(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp) and type(node.op) in _OTHER:
        return ast.BinOp(node.left, _OTHER[type(node.op)](), node.right)
    return None


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_OTHER: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}


def _code(reference: Row, gold: Any) -> Mutants:
    if reference.get("language") != "python" or not isinstance(gold, str):
        return
    fence = _FENCE.search(gold)
    before, source, after = (gold[: fence.start(1)], fence[1], gold[fence.end(1) :]) if fence else ("", gold, "")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    made = 0
    for what, kind in (
        ("a comparison turned", _turned),
        ("an operator swapped", _swapped),
        ("off by one", _off_by_one),
    ):
        for nth in (0, 3):
            edit = _Edit(kind, nth)
            changed = edit.visit(copy.deepcopy(tree))
            if edit.done and made < MAX_PROGRAM_MUTANTS:
                made += 1
                yield what, before + ast.unparse(ast.fix_missing_locations(changed)) + after


_MAKERS: dict[str, Callable[[Row, Any], Mutants]] = {
    "exact": _exact, "math": _math, "tool": _tool, "schema": _schema, "code": _code,
}  # fmt: skip
