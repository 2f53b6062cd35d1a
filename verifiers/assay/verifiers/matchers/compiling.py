"""Expected values compiled to tests of values (contract, appendix, "Matchers").

Plain JSON means equality; an object with a key that starts with `$` is a matcher, by the table
`BUILDERS`. A test is asked about `MISSING` where a key is absent, and only `$optional` and `$absent`
(through `$any` and `$all` too) say yes to that. A literal that starts with `$` is written `{"$eq": …}`.
Unknown matchers, stray keys and operands of a wrong type refuse the row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from assay.contract.numbers import fraction_of
from assay.verifiers import strict_json
from assay.verifiers.errors import InvalidReference
from assay.verifiers.matchers.assignment import maximum_matching
from assay.verifiers.matchers.dates import read_date
from assay.verifiers.matchers.equality import key_of, same
from assay.verifiers.matchers.json_schema import compile_schema
from assay.verifiers.matchers.patterns import whole_match


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Stands for the value of a key that is not there."""
Matcher = Callable[[Any], bool]
Builder = Callable[[Any, str], Matcher]
MAX_UNORDERED = 256
"""Members that an `$unordered` with matchers may have."""


def compile_matcher(expected: Any, field: str) -> Matcher:
    """The test that `expected` stands for. Raises `InvalidReference`, naming `field`."""
    return _compiled(exact_value(expected, field), field)


def exact_value(expected: Any, field: str) -> Any:
    """A row's JSON value with exact numbers, as values of completions have. Raises `InvalidReference`."""
    try:
        return strict_json.exact(expected)
    except strict_json.JsonFault as fault:
        raise InvalidReference(fault.detail, field=field) from None


def _compiled(expected: Any, field: str) -> Matcher:
    if isinstance(expected, dict):
        marks = [key for key in expected if key.startswith("$")]
        return _marked(expected, marks, field) if marks else _object(expected, field)
    if isinstance(expected, list) and has_matchers(expected):
        members = [_compiled(item, f"{field}.{index}") for index, item in enumerate(expected)]
        return lambda value: (
            isinstance(value, list)
            and len(value) == len(members)
            and all(test(item) for test, item in zip(members, value, strict=True))
        )
    return lambda value: same(value, expected)


def has_matchers(expected: Any) -> bool:
    """Whether anything in an expected value is a matcher."""
    if isinstance(expected, dict):
        return any(key.startswith("$") or has_matchers(item) for key, item in expected.items())
    return isinstance(expected, list) and any(map(has_matchers, expected))


def _object(expected: Mapping[str, Any], field: str) -> Matcher:
    if not has_matchers(expected):
        return lambda value: same(value, expected)
    members = {key: _compiled(item, f"{field}.{key[:40]}") for key, item in expected.items()}

    def test(value: Any) -> bool:
        if not isinstance(value, dict) or not value.keys() <= members.keys():
            return False
        return all(member(value.get(key, MISSING)) for key, member in members.items())

    return test


def _marked(expected: Mapping[str, Any], marks: list[str], field: str) -> Matcher:
    if "$num" in expected:
        return _number(expected, field)
    if len(expected) > 1 or marks[0] not in BUILDERS:
        raise InvalidReference("not one known matcher ($eq holds a literal)", field=field)
    return BUILDERS[marks[0]](expected[marks[0]], f"{field}.{marks[0]}")


def _several(operand: Any, field: str) -> list[Matcher]:
    if not isinstance(operand, list) or not operand:
        raise InvalidReference("a list of at least one matcher", field=field)
    return [_compiled(item, f"{field}.{index}") for index, item in enumerate(operand)]


def _text(operand: Any, field: str) -> str:
    if not isinstance(operand, str):
        raise InvalidReference("a string", field=field)
    return operand


def _eq(operand: Any, field: str) -> Matcher:
    return lambda value: same(value, operand)


def _any(operand: Any, field: str) -> Matcher:
    tests = _several(operand, field)
    return lambda value: any(test(value) for test in tests)


def _all(operand: Any, field: str) -> Matcher:
    tests = _several(operand, field)
    return lambda value: all(test(value) for test in tests)


def _not(operand: Any, field: str) -> Matcher:
    test = _compiled(operand, field)
    return lambda value: value is not MISSING and not test(value)


def _optional(operand: Any, field: str) -> Matcher:
    test = _compiled(operand, field)
    return lambda value: value is MISSING or test(value)


def _only_true(operand: Any, field: str) -> None:
    if operand is not True:
        raise InvalidReference("true", field=field)


def _absent(operand: Any, field: str) -> Matcher:
    _only_true(operand, field)
    return lambda value: value is MISSING


def _ignore(operand: Any, field: str) -> Matcher:
    _only_true(operand, field)
    return lambda value: value is not MISSING


def _ci(operand: Any, field: str) -> Matcher:
    folded = _fold(operand)
    return lambda value: same(_fold(value), folded)


def _fold(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, list):
        return [_fold(item) for item in value]
    return {key: _fold(item) for key, item in value.items()} if isinstance(value, dict) else value


def _re(operand: Any, field: str) -> Matcher:
    matches = whole_match(_text(operand, field), field)
    return lambda value: isinstance(value, str) and matches(value)


def _number(expected: Mapping[str, Any], field: str) -> Matcher:
    """`{"$num": x, "abs"?, "rel"?}`: within max(abs, rel·|x|), in exact arithmetic on decimal texts."""
    if not expected.keys() <= {"$num", "abs", "rel"} or not all(map(_is_number, expected.values())):
        raise InvalidReference("$num goes with abs and rel, all numbers", field=field)
    gold, absolute, relative = (fraction_of(expected.get(key, 0)) for key in ("$num", "abs", "rel"))
    if absolute < 0 or relative < 0:
        raise InvalidReference("a tolerance is not negative", field=field)
    tolerance = max(absolute, relative * abs(gold))
    return lambda value: _is_number(value) and abs(fraction_of(value) - gold) <= tolerance


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unordered(operand: Any, field: str) -> Matcher:
    if not isinstance(operand, list):
        raise InvalidReference("a list", field=field)
    if not has_matchers(operand):
        wanted = Counter(map(key_of, operand))
        return lambda value: isinstance(value, list) and Counter(map(key_of, value)) == wanted
    if len(operand) > MAX_UNORDERED:
        raise InvalidReference(f"at most {MAX_UNORDERED} members where there are matchers", field=field)
    tests = _several(operand, field)

    def test(value: Any) -> bool:
        if not isinstance(value, list) or len(value) != len(tests):
            return False
        edges = [[index for index, item in enumerate(value) if member(item)] for member in tests]
        return -1 not in maximum_matching(edges, len(value))

    return test


def _contains(operand: Any, field: str) -> Matcher:
    """A list holds an element that matches, or a string holds a substring."""
    if operand == "":
        raise InvalidReference("every text contains the empty one", field=field)
    element = _compiled(operand, field)

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return isinstance(operand, str) and operand in value
        return isinstance(value, list) and any(element(item) for item in value)

    return test


def _date(operand: Any, field: str) -> Matcher:
    wanted = read_date(_text(operand, field))
    if wanted is None:
        raise InvalidReference("a date", field=field)
    return lambda value: isinstance(value, str) and read_date(value) == wanted


def _schema(operand: Any, field: str) -> Matcher:
    valid = compile_schema(operand, field)
    return lambda value: value is not MISSING and valid(value)


def _len(operand: Any, field: str) -> Matcher:
    """Length of a string (code points), list or object; the operand may be a matcher."""
    test = _compiled(operand, field)
    return lambda value: isinstance(value, (str, list, dict)) and test(len(value))


BUILDERS: dict[str, Builder] = {
    "$eq": _eq,
    "$any": _any,
    "$all": _all,
    "$not": _not,
    "$optional": _optional,
    "$absent": _absent,
    "$ignore": _ignore,
    "$ci": _ci,
    "$re": _re,
    "$unordered": _unordered,
    "$contains": _contains,
    "$date": _date,
    "$schema": _schema,
    "$len": _len,
}
"""Every matcher but `$num`, which takes further keys."""
