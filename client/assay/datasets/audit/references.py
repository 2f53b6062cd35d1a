"""Findings from a row's reference alone: rules that check too little, or that no answer can meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.datasets.audit.degenerate import prompt_text
from assay.datasets.audit.findings import Finding
from assay.datasets.audit.golds import expected_calls, verifier_of

Row = Mapping[str, Any]
Said = Iterator[tuple[str, str]]
LOOSE_REL, LOOSE_FLOAT = 0.1, 0.01
"""A relative tolerance, and a tolerance of programs' outputs, from which on an answer counts as loosely checked."""
_ANSWERED = r"(?:answer|solution|result)(?:\s+is)?\s*[:=]?\s*\W{0,3}"
_LETTERS = re.compile(r"[^\W\d_]")


def reference_findings(row: Row, name: str, line: int) -> Iterator[Finding]:
    """Yield the findings about one row's reference."""
    reference = row.get("reference")
    check = _CHECKS.get(verifier_of(row))
    if check is None or not isinstance(reference, Mapping):
        return
    for kind, detail in check(row, reference):
        yield Finding(name, line, kind, detail)


def _exact(row: Row, reference: Row) -> Said:
    yield from _loose(reference.get("tol"), reference.get("gold"))
    choices = reference.get("choices")
    if isinstance(choices, list):
        plain = [" ".join(str(choice).casefold().split()) for choice in choices]
        if twice := next((one for one in plain if plain.count(one) > 1), None):
            yield "equal_options", f"“{twice[:40]}” occurs twice"
    elif reference.get("mode") != "choice":
        yield from _in_prompt(row, reference.get("gold"))


def _math(row: Row, reference: Row) -> Said:
    yield from _loose(reference.get("tol"), reference.get("answer"))
    yield from _in_prompt(row, reference.get("answer"))


def _loose(tol: Any, gold: Any) -> Said:
    if not isinstance(tol, Mapping):
        return
    rel, absolute = (float(tol.get(name) or 0) for name in ("rel", "abs"))
    try:
        size = abs(float(str(gold).replace(",", "")))
    except ValueError:
        size = None
    if rel >= LOOSE_REL or (size is not None and absolute >= max(LOOSE_REL * size, 1e-12) and absolute > 0):
        yield "loose_tolerance", f"abs {absolute:g}, rel {rel:g} around {str(gold)[:40]}"


def _in_prompt(row: Row, gold: Any) -> Said:
    """Yield a finding if the prompt says the gold: as an answer, or anywhere if it is a text of several letters."""
    text = " ".join(str(gold).casefold().split()) if isinstance(gold, str | int | float) else ""
    said = " ".join(prompt_text(row.get("prompt")).casefold().split())
    if not text or not said:
        return
    whole = rf"(?<!\w){re.escape(text)}(?!\w)"
    stated = re.search(rf"\b{_ANSWERED}{whole}", said)
    if stated or (len(_LETTERS.findall(text)) > 3 and re.search(whole, said)):
        yield "answer_in_prompt", f"“{text[:40]}”"


def _code(row: Row, reference: Row) -> Said:
    kind, _, tolerance = str(reference.get("compare") or "").partition(":")
    try:
        loose = kind == "float" and float(tolerance) >= LOOSE_FLOAT
    except ValueError:
        return
    if loose:
        yield "loose_tolerance", f"compare {kind}:{tolerance[:20]}"


def _tool(row: Row, reference: Row) -> Said:
    for name, args in expected_calls(reference) or ():
        members = args.values() if isinstance(args, Mapping) and args else ()
        if args == {"$ignore": True} or (members and all(member == {"$ignore": True} for member in members)):
            yield "unchecked_arguments", f"any arguments of {name[:60]} are accepted"


def _schema(row: Row, reference: Row) -> Said:
    if reference.get("schema") is False:
        yield "unsatisfiable", "no document is valid by `schema: false`"


def _format(row: Row, reference: Row) -> Said:
    rules = [rule for rule in reference.get("constraints") or () if isinstance(rule, Mapping)]
    if reference.get("aggregate") != "all":
        return
    yield from (("unsatisfiable", detail) for detail in (*_ranges(rules), *_clashes(rules)))


def _ranges(rules: list[Row]) -> Iterator[str]:
    """Yield counts that no number meets: at least 5 and at most 3 of the same thing."""
    bounds: dict[str, tuple[float, float]] = {}
    for rule in rules:
        if not isinstance(rule.get("n"), int) or rule.get("rel") not in _BOUNDS:
            continue
        what = " ".join(str(rule[key]) for key in ("type", "word", "char", "marker") if key in rule).casefold()
        low, high = _BOUNDS[rule["rel"]](rule["n"])
        before = bounds.get(what, (0.0, float("inf")))
        bounds[what] = max(low, before[0]), min(high, before[1])
    yield from (f"no number of {what[:60]} is right" for what, (low, high) in bounds.items() if low > high)


_BOUNDS: dict[str, Callable[[int], tuple[float, float]]] = {
    "<": lambda n: (0, n - 1),
    "<=": lambda n: (0, n),
    "==": lambda n: (n, n),
    ">=": lambda n: (n, float("inf")),
    ">": lambda n: (n + 1, float("inf")),
}


def _clashes(rules: list[Row]) -> Iterator[str]:
    """Yield what one constraint requires and another forbids."""
    kinds = {str(rule.get("type")) for rule in rules}
    if {"all_caps", "all_lower"} <= kinds:
        yield "all_caps and all_lower"
    required = {word for rule in rules for word in _required(rule)}
    forbidden = {
        str(word).casefold() for rule in rules if rule.get("type") == "forbidden" for word in rule.get("any") or ()
    }
    yield from (f"“{word[:40]}” is required and forbidden" for word in sorted(required & forbidden))
    if "no_comma" in kinds and any("," in word for word in required):
        yield "a text with a comma is required, and no_comma"


def _required(rule: Row) -> Iterator[str]:
    if rule.get("type") == "keywords":
        yield from (str(word).casefold() for word in rule.get("all") or ())
    if rule.get("type") in ("starts_with", "ends_with"):
        yield str(rule.get("text")).casefold()
    if rule.get("type") == "keyword_count" and rule.get("rel") in ("==", ">=", ">") and rule.get("n"):
        yield str(rule.get("word")).casefold()


_CHECKS: Mapping[str, Callable[[Row, Row], Said]] = {
    "exact": _exact,
    "math": _math,
    "code": _code,
    "tool": _tool,
    "schema": _schema,
    "format": _format,
}
