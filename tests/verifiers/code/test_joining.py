"""Prefix and program as one text; members of sets by their text."""

from __future__ import annotations

import time

import pytest

from assay.sandbox.guest.values.codec import Members, Pairs
from assay.verifiers.code.canonical import Unequal, canonical
from assay.verifiers.code.joining import joined

FUTURE = "from __future__ import annotations\n"
PREFIX = "import math\n"


@pytest.mark.parametrize(
    "code",
    [
        FUTURE + "x: Nope = 1",
        "#!/usr/bin/python\n\n# note\n" + FUTURE + "x: Nope = 1",
        '"""Says\nmore."""\n' + FUTURE + "x: Nope = 1",
        "from __future__ import (annotations,\n    division)\nx: Nope = 1",
        FUTURE + "from __future__ import division  # old\nx: Nope = 1",
    ],
)
def test_future_imports_of_a_program_come_before_the_prefix(code: str) -> None:
    text = joined(PREFIX, code, "python")
    names: dict[str, object] = {}
    exec(compile(text, "main.py", "exec", dont_inherit=True), names)
    assert names["x"] == 1 and text.count("\n") == (PREFIX + code).count("\n") + 1


@pytest.mark.parametrize("code", ["x = 1", "x = '''\n" + FUTURE + "'''", "x = 1\n" + FUTURE])
def test_nothing_else_of_a_program_is_touched(code: str) -> None:
    assert joined(PREFIX, code, "python") == PREFIX + code
    assert joined(PREFIX, FUTURE, "bash") == PREFIX + FUTURE and joined("", FUTURE, "python") == FUTURE


@pytest.mark.parametrize("part", [FUTURE, "from __future__ import (", '"""', "#\n", "'''\\"])
def test_joining_takes_linear_time(part: str) -> None:
    before = time.process_time()
    joined(PREFIX, FUTURE + part * (200_000 // len(part)), "python")
    assert time.process_time() - before < 3


def test_equal_values_have_one_text() -> None:
    assert canonical(Members([1, 2.0, (3,)])) == canonical({2, 1.0, (3.0,)})
    assert canonical(Pairs([["a", 1], ["b", 2]])) == canonical({"b": 2, "a": 1})


@pytest.mark.parametrize(("one", "other"), [(1, True), ("1", 1), (0, None), (b"a", "a"), ([1], {1}), (0.5, 0)])
def test_unequal_values_have_two(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), [float("nan")], complex("nan")])
def test_what_equals_nothing_has_none(value: object) -> None:
    with pytest.raises(Unequal):
        canonical(value)
