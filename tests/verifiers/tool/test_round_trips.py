"""Every syntax: what is written is read, whatever the values hold; what is cut or mangled is never another call."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.tool.attempts import Attempt, Options, Tool
from assay.verifiers.tool.syntaxes import read_text

from .._scoring import calm
from ._writers import BARE_TEXT, WRITERS, Call

HOSTILE = [
    "</tool_call>",
    "{",
    "}",
    '"',
    "\\",
    "\n",
    "'",
    "[TOOL_CALLS]",
    "<|call|>",
    "<tool_call>",
    "```",
    "é",
    "\u2028",
]
TEXTS = st.lists(st.one_of(st.text(max_size=6), st.sampled_from(HOSTILE)), max_size=5).map("".join)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(-1e9, 1e9, allow_nan=False), TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
NAMES = st.sampled_from(["get_weather", "math.sqrt", "f", "Book-Room"])
CALLS = st.lists(
    st.tuples(NAMES.filter(lambda n: "-" not in n), st.dictionaries(KEYS, VALUES, max_size=3)), min_size=1, max_size=3
)
BARE = TEXTS.filter(lambda text: not any(mark in text for mark in ("</parameter>", "</arg_value>")))
TYPED = st.lists(
    st.tuples(NAMES, st.fixed_dictionaries({"s": BARE, "v": VALUES.filter(lambda v: not isinstance(v, str))})),
    min_size=1,
    max_size=3,
)
SCHEMA = {"type": "object", "properties": {"s": {"type": "string"}, "v": {}}}
TOOLS = {name: Tool(name=name, parameters=SCHEMA) for name in ("get_weather", "math.sqrt", "f", "Book-Room")}
OPTIONS = Options(tools=TOOLS)


def read(text: str, syntax: str) -> list[Attempt]:
    return read_text(text, syntax, OPTIONS)


def as_calls(attempts: list[Attempt]) -> list[Any]:
    return [(attempt.name, attempt.args) if attempt.ok else attempt.reason for attempt in attempts]


def calls_for(name: str) -> st.SearchStrategy[list[Call]]:
    return TYPED if name in BARE_TEXT else CALLS


@pytest.mark.parametrize("name", WRITERS)
@calm
@given(data=st.data())
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    syntax, write = WRITERS[name]
    calls = data.draw(calls_for(name))
    assert as_calls(read(write(calls), syntax)) == calls


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "xlam"])
@calm
@given(data=st.data())
def test_auto_finds_the_syntax(name: str, data: st.DataObject) -> None:
    calls = data.draw(calls_for(name))
    assert as_calls(read(WRITERS[name][1](calls), "auto")) == calls


@pytest.mark.parametrize("name", WRITERS)
@calm
@given(data=st.data(), cut=st.floats(0, 1))
def test_what_is_cut_off_is_never_another_call(name: str, data: st.DataObject, cut: float) -> None:
    syntax, write = WRITERS[name]
    calls = data.draw(calls_for(name))
    text = write(calls)
    made = [attempt for attempt in read(text[: int(cut * len(text))], syntax) if attempt.ok]
    assert as_calls(made) == calls[: len(made)]


@pytest.mark.parametrize("name", WRITERS)
@calm
@given(data=st.data(), noise=TEXTS, at=st.floats(0, 1), skip=st.integers(0, 20), lenient=st.booleans())
def test_mangled_text_never_raises(
    name: str, data: st.DataObject, noise: str, at: float, skip: int, lenient: bool
) -> None:
    syntax, write = WRITERS[name]
    text = write(data.draw(calls_for(name)))
    here = int(at * len(text))
    mangled = text[:here] + noise + text[here + skip :]
    for one in (syntax, "auto"):
        read_text(mangled, one, Options(tools=TOOLS, lenient=lenient, decode_strings=lenient))


@calm
@given(
    text=st.lists(
        st.sampled_from([*HOSTILE, "f(", "[f(", "a=", "to=functions.", "<function=f>", "1", ")", "]", " "])
    ).map("".join)
)
@pytest.mark.parametrize("syntax", sorted({syntax for syntax, _ in WRITERS.values()}))
def test_text_of_marks_never_raises(syntax: str, text: str) -> None:
    read(text, syntax)
