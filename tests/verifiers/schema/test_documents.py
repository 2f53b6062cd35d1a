"""`schema` in prose and in other formats: which part is the document, and which values it has."""

import time
from typing import Any

import pytest

from assay.verifiers.errors import InvalidReference

from .._scoring import verdict

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
GOLD = {"name": "Ada", "age": 36, "tags": ["x"]}
DOCUMENTS = {
    "json": '{"name": "Ada", "age": 36, "tags": ["x"]}',
    "yaml": "# a person\nname: Ada\nage: 36\ntags:\n  - x\n",
    "toml": 'name = "Ada"\nage = 36\ntags = ["x"]\n',
    "xml": "<person><name>Ada</name><age>36</age><tags>x</tags></person>",
}
TABLE = {
    "type": "array",
    "items": {"type": "object", "properties": {"n": {"type": "integer"}, "c": {"type": "string"}}},
}


def judge(text: str, schema: Any, **fields: Any) -> tuple[float, str]:
    got = verdict("schema", text, {"schema": schema, **fields})
    return got.reward, got.reason


@pytest.mark.parametrize("format_", DOCUMENTS)
def test_every_format_is_the_same_value(format_: str) -> None:
    text = DOCUMENTS[format_]
    assert judge(text, PERSON, format=format_, gold=GOLD) == (1, "equal")
    assert judge(text.replace("36", "37"), PERSON, format=format_, gold=GOLD) == (0, "unequal")
    assert judge(text.replace("36", "old"), PERSON, format=format_)[0] == 0
    assert judge("I will not.", PERSON, format=format_)[0] == 0


@pytest.mark.parametrize("format_", DOCUMENTS)
@pytest.mark.parametrize("marks", ["```", "````", "~~~", "~~~~~"])
def test_a_fence_is_read_where_the_row_says_so(format_: str, marks: str) -> None:
    fenced = f"{marks}{format_}\n{DOCUMENTS[format_]}\n{marks}"
    prose = f"Here it is:\n\n{fenced}\n\nI hope that helps."
    assert judge(fenced, PERSON, format=format_, extract="fence_ok") == (1, "equal")
    assert judge(prose, PERSON, format=format_, extract="fence_ok")[0] == 0
    for text in (fenced, prose):
        assert judge(text, PERSON, format=format_, extract="last_fence") == (1, "equal")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first\n```json\n[1]\n```\nbetter\n```json\n[2]\n```", [2]),
        ("```json\n[2]\n```\nUse it so:\n```python\nprint(1)\n```", [2]),
        ("1. item\n   ```json\n   [2]\n   ```\n", [2]),
        ("```json\n[2]\n```\n```json\n[3]", None),
        ("[2]", None),
        ("<think>\n```json\n[1]\n```\n</think>\n```\n[2]\n```", [2]),
    ],
)
def test_the_last_fence(text: str, expected: Any) -> None:
    reason = judge(text, True, extract="last_fence", gold=expected)[1]
    assert reason == ("equal" if expected else "no_answer")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('The result is {"a": 1}.', {"a": 1}),
        ('First {"a": 2}, no: {"a": 1}, as asked {see above}.', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Set {x} to {"a": "}{"} [1]', [1]),
        ("It's [] then", []),
        ('{"a": {"b": [1, {"c": 2}]}} done', {"a": {"b": [1, {"c": 2}]}}),
    ],
)
def test_the_last_object(text: str, expected: Any) -> None:
    assert judge(text, True, extract="last_object", gold=expected) == (1, "equal")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("none", "no_answer"),
        ('{"a": 1} then {"a": 2', "unparsed"),
        ('{"a": 1} then {"a": 2,}', "unparsed"),
        ('{"a": 1} {"a": 1, "a": 1}', "unparsed"),
        ("{x}", "no_answer"),
    ],
)
def test_an_object_that_is_none(text: str, reason: str) -> None:
    assert judge(text, True, extract="last_object") == (0, reason)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no\nb: on\nc: 1.10\nd: 0x10\ne: .5\nf: 007\ng: ~\nh: '1'\ni: 2020-01-01\nj: true", None),
    ],
)
def test_yaml_is_read_by_its_core_schema(text: str, value: Any) -> None:
    expected = {
        "a": "no", "b": "on", "c": 1.1, "d": 16, "e": 0.5, "f": 7, "g": None, "h": "1", "i": "2020-01-01", "j": True,
    }  # fmt: skip
    assert judge(text, True, format="yaml", gold=expected) == (1, "equal")


BAD = {
    "yaml": [
        "a: &x 1\nb: *x",
        "a: !!python/object/apply:os.system ['true']",
        "a: !!str 1",
        "a: 1\na: 2",
        "a: 1\n---\na: 2",
        "? [1]\n: 2",
        "a: .nan",
        "a: [1",
        "a:\n\t- b",
        "[" * 5000 + "]" * 5000,
    ],
    "toml": ["a = 1\na = 2", "a = inf", "a = nan", "a", "a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000],
    "xml": [
        "<a>1</b>",
        "<a/><b/>",
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        "<a>&x;</a>",
        "text",
        "<a>" * 5000 + "</a>" * 5000,
    ],
    "csv": ["n,n\n1,2", "n,c\n1", 'n,c\n"1,2', "\n\n"],
}


@pytest.mark.parametrize(("format_", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_what_json_has_no_place_for_is_no_document(format_: str, text: str) -> None:
    started = time.process_time()
    assert judge(text, True, format=format_)[0] == 0
    assert time.process_time() - started < 2


def test_a_table_is_rows_of_the_schemas_types() -> None:
    assert judge("n,c\n1,a\n2,3\n", TABLE, format="csv", gold=[{"n": 1, "c": "a"}, {"n": 2, "c": "3"}]) == (1, "equal")
    assert judge("n,c\none,a\n", TABLE, format="csv")[1] == "schema_mismatch"


def test_xml_has_attributes_repeated_elements_and_a_root() -> None:
    schema = {
        "type": "object",
        "properties": {"@id": {"type": "integer"}, "n": {"type": "array", "items": {"type": "number"}}},
    }
    assert judge('<r id="7"><n>1.5</n><n>2</n></r>', schema, format="xml", gold={"@id": 7, "n": [1.5, 2]})[0] == 1
    assert judge('<r id="7"><n>1.5</n></r>', schema, format="xml", gold={"@id": 7, "n": [1.5]})[0] == 1
    rooted = {"type": "object", "properties": {"r": {"type": "object"}}, "required": ["r"]}
    assert judge("<r><n>1</n></r>", rooted, format="xml") == (1, "equal")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"format": "yaml", "extract": "last_object"}, "extract"),
        ({"format": "xml", "mode": "tool_call"}, "format"),
    ],
)
def test_options_that_do_not_fit_refuse_the_row(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidReference) as refused:
        judge("x", True, **fields)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "text", ["{" * 200_000, '{"' * 100_000, "[[" * 100_000 + "]" * 9, '{"a": ' * 50_000, "```\n" * 50_000]
)
@pytest.mark.parametrize("extract", ["last_object", "last_fence", "fence_ok"])
def test_hostile_text_costs_linear_time(text: str, extract: str) -> None:
    started = time.process_time()
    assert judge(text, True, extract=extract)[0] == 0
    assert time.process_time() - started < 5


@pytest.mark.parametrize("format_", ["yaml", "toml", "xml", "csv"])
def test_a_long_document_is_read(format_: str) -> None:
    lines = {
        "yaml": "k{n}: {n}\n",
        "toml": "k{n} = {n}\n",
        "xml": "<k>{n}</k>",
        "csv": "{n},a\n",
    }
    body = "".join(lines[format_].format(n=n) for n in range(5000))
    text = {"xml": f"<r>{body}</r>", "csv": "n,c\n" + body}.get(format_, body)
    started = time.process_time()
    assert judge(text, True, format=format_) == (1, "equal")
    assert time.process_time() - started < 5
