"""Extraction and comparison: pure functions, exact rules, linear time."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.contract.references.code import CodeReference
from assay.sandbox.guest.values import codec
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import flags
from assay.verifiers.code.asserts import _parse as asserts_parse
from assay.verifiers.code.calls import answers_of
from assay.verifiers.code.compare import output_rule, value_rule
from assay.verifiers.code.extraction import last_fence
from assay.verifiers.code.shared import _frames
from assay.verifiers.code.spec import prepare
from assay.verifiers.code.verifier import _extract

EXTRACTED = {
    "one": ("```python\nprint(1)\n```", "print(1)\n"),
    "last": ("```python\na\n```\ntext\n```python\nb\n```\nbye", "b\n"),
    "untagged": ("```\nx = 1\n```", "x = 1\n"),
    "other_tag_skipped": ("```python\na\n```\noutput:\n```text\n5\n```", "a\n"),
    "other_language_skipped": ("```python\na\n```\n```cpp\nint x;\n```", "a\n"),
    "unknown_tag_counts": ("```solution\na\n```", "a\n"),
    "upper_case_tag": ("```Python3\na\n```", "a\n"),
    "attributes": ("``` {.python .numberLines}\na\n```", "a\n"),
    "tildes": ("~~~py\na\n~~~", "a\n"),
    "longer_fence": ("````python\n```\nnot the end\n```\n````", "```\nnot the end\n```\n"),
    "indented": ("  ```python\n  a\n    b\nc\n  ```", "a\n  b\nc\n"),
    "in_an_item": ("1. So:\n\n   ```python\n   if a:\n     b\n   ```\n", "if a:\n  b\n"),
    "in_a_wide_item": ("10. So:\n\n    ```python\n    a\n    ```\n", "a\n"),
    "in_a_nested_item": ("- x\n  - y\n    1. z\n\n       ```python\n       a\n\n       b\n       ```\n", "a\n\nb\n"),
    "on_the_line_of_an_item": ("- ```python\n  a\n  ```\n", "a\n"),
    "indented_by_a_tab_in_an_item": ("1. x\n\t```python\n\ta\n\t\tb\n\t```\n", "a\n\tb\n"),
    "after_a_list": ("- x\n\n```python\na\n```", "a\n"),
    "fence_in_a_string": ('```python\ns = """\n    ```\n"""\n```', 's = """\n    ```\n"""\n'),
    "item_in_the_program": ("```python\n- ```\n```", "- ```\n"),
    "indented_code_shows_a_fence": ("Say\n\n    ```python\n    a\n    ```\n", None),
    "crlf": ("```python\r\na\r\n```\r\n", "a\r\n"),
    "never_closed": ("```python\na", None),
    "last_never_closed": ("```python\na\n```\n```python\nb", None),
    "none": ("print(1)", None),
    "empty": ("```python\n```", ""),
    "inline_is_no_fence": ("use ```x``` here", None),
    "backticks_in_code": ("```python\nx = '```'\n```", "x = '```'\n"),
}


@pytest.mark.parametrize("name", EXTRACTED)
def test_fence(name: str) -> None:
    text, code = EXTRACTED[name]
    found = last_fence(text, "python")
    assert (found and found.code) == code
    if found:
        lines = zip(text[slice(*found.span)].split("\n"), found.code.split("\n"), strict=True)
        assert all(raw.endswith(line) and not raw.removesuffix(line).strip() for raw, line in lines)


def test_the_span_counts_from_the_text_that_is_read() -> None:
    row = {"language": "python", "mode": "stdio", "tests": [{"stdin": "", "expected_stdout": ""}]}
    spec = prepare(CodeReference.model_validate(row))
    text = "<think>```python\nno\n```</think>é\n```python\nno\n```\n```python\nyes\n```"
    found = _extract(spec, Candidate.of(text))
    assert found is not None and text[slice(*found.span)] == "yes\n"
    assert _extract(spec, Candidate.of("<think>```python\nno\n```")) is None


def test_a_fence_in_front_of_text_is_found_only_at_a_line_start() -> None:
    assert last_fence("x ```python\na\n```", "python") is None


@pytest.mark.parametrize("text", ["```" * 200_000, "```python\n" * 100_000, "~" * 1_000_000, " ```" * 200_000])
def test_extraction_is_linear(text: str) -> None:
    started = time.monotonic()
    last_fence(text, "python")
    assert time.monotonic() - started < 5


OUTPUT = [
    ("lines", b"1 \r\n2\n\n", b"1\n2", True),
    ("lines", b" 1\n", b"1\n", False),
    ("lines", b"1\n\n2", b"1\n2", False),
    ("lines", b"", b"", True),
    ("lines", b"\n\n", b"", True),
    ("lines", b"a\x00", b"a", False),
    ("lines", "a\u00a0".encode(), b"a", False),
    ("lines", b"1\r2", b"1\n2", False),
    ("tokens", b"1\n2  3", b"1 2 3\n", True),
    ("tokens", b"12 3", b"1 23", False),
    ("tokens", b"", b" ", True),
    ("exact", b"1\n", b"1", False),
    ("exact", b"\xff", b"\xff", True),
    ("float:1e-6", b"0.3333333", b"0.33333333", True),
    ("float:1e-6", b"1e6", b"1000000.5", True),
    ("float:1e-6", b"1000002", b"1000000", False),
    ("float:1e-6", b"nan", b"nan", True),
    ("float:1e-6", b"nan", b"1", False),
    ("float:1e-6", b"inf", b"1e400", False),
    ("float:1e-6", b"1e400", b"1e401", False),
    ("float:1e-6", b"1_0", b"10", False),
    ("float:1e-6", "１０".encode(), b"10", False),
    ("float:1e-6", b"0x10", b"16", False),
    ("float:1e-6", b"1e99999", b"1", False),
    ("float:1e-6", b"1 2", b"1", False),
    ("float:1e-6", b"+1.", b"1.0", True),
    ("float:1e-6", b".5", b"0.5", True),
    ("float:1e-6", b"abc 1.0", b"abc 1", True),
    ("float:1e-6", b"9" * 10**6, b"9" * 10**6 + b"1", False),
    ("float:0", b"1.0", b"1", True),
]


@pytest.mark.parametrize(("rule", "printed", "expected", "right"), OUTPUT)
def test_output_rule(rule: str, printed: bytes, expected: bytes, right: bool) -> None:
    assert output_rule(rule)(printed, expected) is right


@pytest.mark.parametrize("rule", ["lines", "tokens", "exact", "float:1e-6"])
@given(text=st.binary(max_size=200))
def test_every_output_equals_itself(rule: str, text: bytes) -> None:
    assert output_rule(rule)(text, text)


@pytest.mark.parametrize("rule", ["lines", "tokens", "float:1e-6"])
def test_comparison_is_linear(rule: str) -> None:
    started = time.monotonic()
    for text in (b" " * 4_000_000, b"\n" * 4_000_000, b"1 " * 2_000_000, b" \n" * 2_000_000):
        output_rule(rule)(text, text + b"x")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("rule", "returned", "expected", "right"),
    [
        ("json", (1, 2), [1, 2], True),
        ("json", {"b": 1, "a": (2,)}, {"a": [2], "b": 1.0}, True),
        ("json", 2**53, 2.0**53, True),
        ("json", 2**53 + 1, 2.0**53, False),
        ("json", -0.0, 0, True),
        ("json", float("inf"), float("inf"), False),
        ("json", codec.Opaque("x"), None, False),
        ("json", b"a", "a", False),
        ("json", True, 1, False),
        ("float:1e-6", [1.0000001, {"a": 2}], [1, {"a": 2.0000001}], True),
        ("float:1e-6", [1.1], [1], False),
        ("float:1e-6", True, 1, False),
        ("float:1e-6", "1.0", "1.00", False),
        ("float:1e-6", 10**400, 10**400, True),
        ("float:1e-6", float("nan"), 1.0, False),
    ],
)
def test_value_rule(rule: str, returned: object, expected: object, right: bool) -> None:
    assert value_rule(rule)(returned, expected) is right


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    | st.lists(inner, max_size=3).map(tuple),
    max_leaves=20,
)  # fmt: skip


@given(plain)
def test_plain_values_cross_unchanged(value: object) -> None:
    back = codec.loads(codec.dumps(value))
    assert back == value and type(back) is type(value)


@given(st.sets(st.integers() | st.text()), st.complex_numbers(allow_nan=False), st.text(alphabet="\ud800\udfffa"))
def test_other_values_cross_unchanged(members: set[object], number: complex, surrogates: str) -> None:
    value = [members, frozenset(members), number, surrogates]
    assert codec.loads(codec.dumps(value)) == value


@given(st.binary(max_size=100) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_junk_is_malformed_and_never_anything_else(text: bytes) -> None:
    with contextlib.suppress(codec.Malformed):
        codec.loads(text)


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000 + b"]" * 100_000, b"9" * 5000, b'{"i":"zz"}', b'{"f":"1e5000x"}', b'{"c":["a"]}', b'{"d":[[1]]}',
     b'{"S":[[1]]}', b'{"u":1}', b'{"x":1}', b'{"a":1,"b":2}', b"1.5", b"Infinity", b'{"b":"0"}', b'{"s":"ff"}'],
)  # fmt: skip
def test_malformed(text: bytes) -> None:
    with pytest.raises(codec.Malformed):
        codec.loads(text)


def test_values_beyond_the_bounds_do_not_cross(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_NODES", 10_000)
    deep: list[object] = []
    for _ in range(1000):
        deep = [deep]
    shared: list[object] = [0]
    for _ in range(40):
        shared = [shared, shared]
    cyclic: list[object] = []
    cyclic.append(cyclic)
    for value in (deep, shared, cyclic):
        with pytest.raises(codec.TooLarge):
            codec.dumps(value)


def test_flags_are_linear_and_suggestive() -> None:
    assert "early_exit" in flags.of_text("import os\nos._exit(0)")
    assert "lying_object" in flags.of_text("class A:\n  def __eq__(self, o): return True")
    assert flags.of_text("def add(a, b):\n    return a + b\n") == ()
    started = time.monotonic()
    for text in ("def __eq__(" * 20_000, "sys.argv" * 25_000, "range(3, " * 25_000, "9" * 200_000):
        flags.of_text(text)
    assert time.monotonic() - started < 10


@given(st.binary(max_size=200))
def test_readers_of_what_a_jail_sent_never_raise(data: bytes) -> None:
    answers_of(data, 1)
    answers_of(data + b"\n", 2)
    _frames(data, 3)
    asserts_parse(data)


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_framed_outputs_come_back_or_not_at_all(outputs: list[bytes]) -> None:
    data = b"".join(len(output).to_bytes(8, "big") + output for output in outputs)
    assert _frames(data, len(outputs)) == outputs
    assert _frames(data + b"x", len(outputs)) is None
    assert _frames(data[:-1], len(outputs)) is None or not outputs
