"""Whether two typed values are equal. Kinds that differ are unequal, but for the bridges listed here.

Bridges (contract, appendix "math"): a unit on one side only is ignored; `x = v` equals v; a pair meets
an interval; finite sets meet lists; an assignment meets an equation. `Rules` holds what the row or the
profile loosens. The relation is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from assay.verifiers.math.answer.announcing import announces
from assay.verifiers.math.equality.equations import moved, same_solutions
from assay.verifiers.math.equality.exact import NoValue
from assay.verifiers.math.equality.scalar import Scalar, equal, proportional, same_direction
from assay.verifiers.math.equality.tolerance import near
from assay.verifiers.math.rules import STRICT, Rules
from assay.verifiers.math.syntax.nodes import Node, Num, mul
from assay.verifiers.math.values import reals
from assay.verifiers.math.values.kinds import (
    WORDED,
    Equation,
    Gap,
    Grid,
    Measured,
    Members,
    Named,
    Nothing,
    One,
    Opaque,
    Ordered,
    Ranges,
    Reals,
    Record,
    Relation,
    Text,
    Value,
)
from assay.verifiers.math.values.relations import as_ranges, as_reals, ranges_of

MAX_PAIRS = 250_000
"""Comparisons that one pair of collections may cost."""


class Comparison:
    """One comparison of a gold with an answer under some rules, with the steps that decided."""

    def __init__(self, rules: Rules = STRICT) -> None:
        self.rules = rules
        self.path: list[str] = []
        self.pairs = 0

    def equal(self, gold: Value, answer: Value) -> bool:
        """Whether they are equal."""
        if isinstance(gold, Nothing) or isinstance(answer, Nothing):
            return self.note("equal to nothing", result=False)
        if isinstance(gold, Measured) or isinstance(answer, Measured):
            return self._measured(gold, answer)
        if isinstance(gold, Named) or isinstance(answer, Named):
            return self._named(gold, answer)
        if self.rules.singletons:
            gold, answer = _single(gold), _single(answer)
        if (listed := _numbered(gold, answer)) is not None:
            return self.equal(*listed)
        for kinds, method in _METHODS:
            if isinstance(gold, kinds) and isinstance(answer, kinds):
                return method(self, gold, answer)
        return self._bridged(gold, answer)

    def note(self, step: str, *, result: bool) -> bool:
        """Record a step and what it found; returns the latter."""
        self.path.append(f"{step}: {'equal' if result else 'unequal'}")
        return result

    # --- scalars ---------------------------------------------------------------------------------
    def _ones(self, gold: One, answer: One) -> bool:
        if equal(gold.scalar, answer.scalar):
            return self.note("scalars", result=True)
        if self.rules.tolerance_abs or self.rules.tolerance_rel or self.rules.gold_digits:
            return self.note("scalars within tolerance", result=near(gold.scalar, answer.scalar, self.rules))
        return self.note("scalars", result=False)

    def _measured(self, gold: Value, answer: Value) -> bool:
        one, unit, percent = _unit(gold)
        other, other_unit, other_percent = _unit(answer)
        if self.rules.units != "ignored":
            both = bool(unit) and bool(other_unit)
            if unit != other_unit and (both or self.rules.units == "required"):
                return self.note(f"units {unit or 'none'} and {other_unit or 'none'}", result=False)
        if self.equal(one, other):
            return True
        if self.rules.percent_free and percent != other_percent:
            hundred = Num(Fraction(100))
            if percent and isinstance(one, One):
                one = One(Scalar(mul(one.scalar.node, hundred)))
            elif other_percent and isinstance(other, One):
                other = One(Scalar(mul(other.scalar.node, hundred)))
            return self.equal(one, other)
        return False

    # --- names, equations, relations ---------------------------------------------------------------
    def _named(self, gold: Value, answer: Value) -> bool:
        if isinstance(gold, Named) and isinstance(answer, Named):
            alike = gold.name == answer.name or self.rules.names_free
            return (alike and self.equal(gold.value, answer.value)) or self._as_equations(gold, answer)
        if isinstance(gold, Equation) or isinstance(answer, Equation):
            return self._as_equations(gold, answer)
        if isinstance(gold, Record) or isinstance(answer, Record):
            if (listed := _numbered(gold, answer)) is not None:
                return self.equal(*listed)
            golds, answers = _as_record(gold), _as_record(answer)
            return self._records(golds, answers) if golds and answers else self.note("kinds", result=False)
        if isinstance(gold, Relation) or isinstance(answer, Relation):
            return self.note("kinds", result=False)
        if any(_names_inside(value) for value in (gold, answer)):
            return self.note("names", result=False)
        if not all(_may_be_dropped(value.name) for value in (gold, answer) if isinstance(value, Named)):
            return self.note("names", result=False)
        one = gold.value if isinstance(gold, Named) else gold
        other = answer.value if isinstance(answer, Named) else answer
        return self.equal(one, other)

    def _as_equations(self, gold: Value, answer: Value) -> bool:
        one, other = _sides(gold), _sides(answer)
        if one is None or other is None:
            return self.note("names", result=False)
        return self.note("equations", result=same_solutions(one, other))

    def _relations(self, gold: Relation, answer: Relation) -> bool:
        if gold.sign != answer.sign:
            return self.note("signs", result=False)
        sides = (gold.left, answer.left), (gold.right, answer.right)
        if all(equal(Scalar(one), Scalar(other)) for one, other in sides):
            return self.note("relations", result=True)
        one, other = Scalar(moved((gold.left, gold.right))), Scalar(moved((answer.left, answer.right)))
        scaled = proportional if gold.sign in ("!=", "=") else same_direction
        return self.note("relations", result=scaled(one, other))

    def _records(self, gold: Record, answer: Record) -> bool:
        if set(gold.fields) != set(answer.fields):
            return self.note("names", result=False)
        return all(self.equal(value, answer.fields[name]) for name, value in gold.fields.items())

    # --- collections --------------------------------------------------------------------------------
    def _members(self, gold: Members, answer: Members) -> bool:
        golds, answers = self._distinct(gold), self._distinct(answer)
        if len(golds) != len(answers):
            return self.note(f"{len(golds)} members and {len(answers)}", result=False)
        return self.note("members", result=self._matched(golds, answers))

    def _distinct(self, members: Members) -> list[Value]:
        """The members; of a set in braces, each once."""
        if not members.braced or len(members.items) < 2:
            return list(members.items)
        kept: list[Value] = []
        for item in members.items:
            if not any(self._affordable() and Comparison().equal(item, other) for other in kept):
                kept.append(item)
        return kept

    def _affordable(self) -> bool:
        self.pairs += 1
        return self.pairs < MAX_PAIRS

    def _matched(self, golds: list[Value], answers: list[Value]) -> bool:
        """Pair each member with an equal one. Equality is transitive for exact values, so greedy is right."""
        exact, rest = _exact_counts(golds)
        other_exact, other_rest = _exact_counts(answers)
        if not rest and not other_rest and self.rules == STRICT:
            return exact == other_exact
        left = list(answers)
        for value in golds:
            found = next((i for i, other in enumerate(left) if self._affordable() and self.equal(value, other)), None)
            if found is None:
                return False
            del left[found]
        return not left

    def _ordered(self, gold: Ordered, answer: Ordered) -> bool:
        forms = gold.form == answer.form or (self.rules.brackets_free and {gold.form, answer.form} <= {"()", "<>"})
        if not forms or len(gold.items) != len(answer.items):
            return (
                self._bridged(gold, answer)
                if len(gold.items) == 2 == len(answer.items)
                else self.note("form", result=False)
            )
        same = all(self.equal(one, other) for one, other in zip(gold.items, answer.items, strict=True))
        return self.note("in order", result=same)

    def _grids(self, gold: Grid, answer: Grid) -> bool:
        shape = [len(row) for row in gold.rows] == [len(row) for row in answer.rows] and gold.form == answer.form
        same = shape and all(
            self.equal(one, other)
            for row, other_row in zip(gold.rows, answer.rows, strict=True)
            for one, other in zip(row, other_row, strict=True)
        )
        return self.note("entries", result=same)

    # --- sets of reals ---------------------------------------------------------------------------------
    def _real_sets(self, gold: Reals, answer: Reals) -> bool:
        if gold.variable and answer.variable and gold.variable != answer.variable and not self.rules.names_free:
            return self.note("names", result=False)
        return self.note("sets of reals", result=reals.same(gold.line, answer.line))

    def _ranges(self, gold: Ranges, answer: Ranges) -> bool:
        if gold.variable and answer.variable and gold.variable != answer.variable:
            return self.note("names", result=False)
        if len(gold.pieces) != len(answer.pieces):
            return self.note("intervals", result=False)
        golds = [Ordered(form, (low, high)) for form, low, high in gold.pieces]
        answers = [Ordered(form, (low, high)) for form, low, high in answer.pieces]
        return self.note("intervals", result=self._matched(list(golds), list(answers)))

    # --- words ---------------------------------------------------------------------------------------------
    def _texts(self, gold: Text, answer: Text) -> bool:
        return self.note("words", result=gold.text == answer.text)

    def _opaque(self, gold: Opaque, answer: Opaque) -> bool:
        return self.note("text", result=gold.text == answer.text)

    def _gaps(self, gold: Gap, answer: Gap) -> bool:
        return True

    def _equations(self, gold: Equation, answer: Equation) -> bool:
        return self._as_equations(gold, answer)

    # --- bridges --------------------------------------------------------------------------------------------
    def _bridged(self, gold: Value, answer: Value) -> bool:
        """Kinds that differ: a set of reals in two forms, or nothing."""
        if any(isinstance(value, (Reals, Ordered, Members)) for value in (gold, answer)):
            one, other = as_reals(gold), as_reals(answer)
            if one is not None and other is not None:
                return self.note("sets of reals", result=reals.same(one, other))
        for relation, other_side in ((gold, answer), (answer, gold)):
            ranges = as_ranges(other_side) if isinstance(relation, Relation) else None
            if isinstance(relation, Relation) and ranges is not None:
                return any(self._ranges(each, ranges) for each in ranges_of(relation))
        if isinstance(gold, Ranges) or isinstance(answer, Ranges):
            left, right = as_ranges(gold), as_ranges(answer)
            if left is not None and right is not None:
                return self._ranges(left, right)
        if self.rules.brackets_free:
            flat, other_flat = _flat(gold), _flat(answer)
            if flat is not None and other_flat is not None and len(flat) == len(other_flat):
                return all(self.equal(a, b) for a, b in zip(flat, other_flat, strict=True))
        return self.note(f"kinds {gold.kind} and {answer.kind}", result=False)


_METHODS: Sequence[tuple[type[Value], Callable[[Comparison, Any, Any], bool]]] = (
    (One, Comparison._ones),
    (Members, Comparison._members),
    (Ordered, Comparison._ordered),
    (Reals, Comparison._real_sets),
    (Text, Comparison._texts),
    (Grid, Comparison._grids),
    (Record, Comparison._records),
    (Equation, Comparison._equations),
    (Relation, Comparison._relations),
    (Ranges, Comparison._ranges),
    (Opaque, Comparison._opaque),
    (Gap, Comparison._gaps),
)


def _names_inside(value: Value) -> bool:
    """Whether a list gives its members names: it is then no list of one name's values."""
    return isinstance(value, Members) and any(isinstance(item, (Named, Record)) for item in value.items)


def _may_be_dropped(name: str) -> bool:
    """Whether `name = v` says v: words must announce it."""
    return not name.startswith(WORDED) or announces(name.removeprefix(WORDED).replace("-", " ").split())


def _single(value: Value) -> Value:
    return value.items[0] if isinstance(value, Members) and len(value.items) == 1 else value


def _unit(value: Value) -> tuple[Value, str, bool]:
    """A value without its unit, the unit, and whether it was a percentage; `x = 5 m` has the unit too."""
    if isinstance(value, Named) and isinstance(value.value, Measured):
        inner = value.value
        return replace(value, value=inner.value), inner.unit, inner.percent
    return (value.value, value.unit, value.percent) if isinstance(value, Measured) else (value, "", False)


def _flat(value: Value) -> list[Value] | None:
    if isinstance(value, Ordered) and value.form in ("()", "<>"):
        return list(value.items)
    if isinstance(value, Grid) and (len(value.rows) == 1 or all(len(row) == 1 for row in value.rows)):
        return [entry for row in value.rows for entry in row]
    return None


def _numbered(gold: Value, answer: Value) -> tuple[Value, Value] | None:
    """`x_1 = 1, x_2 = 2` beside a list of values without names: its values as a list."""
    if isinstance(gold, Record) and isinstance(answer, Members) and _is_numbered(gold):
        return Members(tuple(gold.fields.values())), answer
    if isinstance(answer, Record) and isinstance(gold, Members) and _is_numbered(answer):
        return gold, Members(tuple(answer.fields.values()))
    return None


def _is_numbered(record: Record) -> bool:
    """Whether the names are one letter with different subscripts: the roots of one equation."""
    stems = {name.partition("_")[0] for name in record.fields}
    return len(stems) == 1 and len(record.fields) > 1 and all("_" in name for name in record.fields)


def _as_record(value: Value) -> Record | None:
    """`(x, y) = (1, 2)` is x = 1, y = 2."""
    if isinstance(value, Record):
        return value
    if not isinstance(value, Named) or not isinstance(value.value, Ordered) or not value.name.startswith("("):
        return None
    names = value.name[1:-1].split(",")
    return Record(dict(zip(names, value.value.items, strict=True))) if len(names) == len(value.value.items) else None


def _sides(value: Value) -> tuple[Node, Node] | None:
    if isinstance(value, Equation):
        return value.left, value.right
    return value.sides if isinstance(value, Named) else None


def _exact_counts(values: list[Value]) -> tuple[dict[Fraction, int], list[Value]]:
    """Exact rationals with their counts, and everything else."""
    counts: dict[Fraction, int] = {}
    rest: list[Value] = []
    for value in values:
        exact = None
        if isinstance(value, One):
            try:
                exact = value.scalar.exact
            except NoValue:
                exact = None
        if exact is None:
            rest.append(value)
        else:
            counts[exact] = counts.get(exact, 0) + 1
    return counts, rest
