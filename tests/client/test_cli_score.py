"""`assay score` writes every row unchanged with its result, in order."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ._cli import Ran, lines, row, write
from ._service import Running, null

Assay = Callable[..., Ran]


def test_each_line_is_the_row_and_its_result(assay: Assay, service: Running) -> None:
    raw = (
        ' {"z": 1.10, "id":"a\\u00e9" , "big": 123456789012345678901234567890, "verifier":"exact","completion":'
        '"#### 7",'
        '"reference":{"mode":"number","gold":7.000000000000000000000000000,"extract":"hash4"},"expected":1 } '
    )
    write("in.jsonl", [raw])
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url).code == 0
    line = Path("out.jsonl").read_text()
    assert line.startswith(raw.strip().removesuffix("}").rstrip() + ',"result":{') and line.count("a\\u00e9") == 2
    assert json.loads(line)["result"]["reward"] == 1


def test_thousands_of_rows_stay_in_order(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(f"#### {n % 9}", id=f"r{n}", group=f"g{n // 8}") for n in range(3000)])
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url).code == 0
    found = [(line["id"], line["result"]["id"], line["result"]["reward"]) for line in lines("out.jsonl")]
    assert found == [(f"r{n}", f"r{n}", float(n % 9 == 7)) for n in range(3000)]
    assert all(len(request["items"]) <= 256 for request in service.service.requests)


def test_from_a_pipe_to_a_pipe(assay: Assay, service: Running) -> None:
    ran = assay("score", "-", "--server", service.url, stdin=b"\xef\xbb\xbf" + json.dumps(row()).encode())
    assert ran.code == 0 and json.loads(ran.out)["result"]["id"] == "0"
    assert "exact@1" in ran.err and "1 rows" in ran.err


def test_slim_omits_the_large_members(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(id="a", prompt="p", step=3, note=[1, 2])])
    assay("score", "in.jsonl", "-o", "out.jsonl", "--slim", "--server", service.url)
    (line,) = lines("out.jsonl")
    assert list(line) == ["verifier", "id", "step", "note", "result"]


def test_an_existing_result_is_replaced(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(result={"reward": 5}, id="a")])
    assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    assert Path("out.jsonl").read_text().count('"result"') == 1
    assert lines("out.jsonl")[0]["result"]["reward"] == 1


def test_ids_may_repeat_or_be_absent(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(id="a"), row("", id="a"), row(), row(id=None)])
    assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    results = [line["result"] for line in lines("out.jsonl")]
    assert [(result["id"], result["reward"]) for result in results] == [("a", 1), ("a", 0), ("2", 1), ("3", 1)]


def test_extra_columns_are_not_sent(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(expected=1, kind="k", why="w", source="s", answer=7, difficulty=[3])])
    assert assay("score", "in.jsonl", "--server", service.url).code == 0
    assert set(service.service.requests[0]["items"][0]) == {"id", "verifier", "completion", "reference"}


def test_a_run_label_for_rows_without_one(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row()])
    assay("score", "in.jsonl", "--server", service.url, "--run", "night", "--deadline", "30")
    assert service.service.requests[0]["defaults"] == {"run": "night"}
    assert 25 < service.service.requests[0]["deadline_s"] <= 30


NEAR = [
    "completions",
    "Completion",
    "compeltion",
    "complettion",
    "references",
    "refrence",
    "verifer",
    "Verifier",
    "ids",
    "ID",
    "group_",
    "finalstate",
    "final-state",
    "score",
    "promt",
    "truncate",
    "option",
    "completion_id",
]


@pytest.mark.parametrize("name", NEAR)
def test_a_near_miss_of_a_field_is_an_error(assay: Assay, service: Running, name: str) -> None:
    write("in.jsonl", [row(), row(**{name: "x"})])
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    assert ran.code == 2 and "in.jsonl:2" in ran.err and repr(name) in ran.err
    assert len(lines("out.jsonl")) == 1


@pytest.mark.parametrize("name", ["response", "output", "generation"])
def test_a_synonym_of_a_missing_field_is_an_error(assay: Assay, service: Running, name: str) -> None:
    whole = row()
    whole[name] = whole.pop("completion")
    write("in.jsonl", [whole])
    ran = assay("score", "in.jsonl", "--server", service.url)
    assert ran.code == 2 and name in ran.err and "completion" in ran.err


BAD = [
    "[1]",
    "3",
    "null",
    "{",
    '{"a":1}}',
    '{"a":NaN}',
    '{"a":1,"a":2}',
    '{"reference":{"a":1,"a":2}}',
    "{'a':1}",
    '{"id":5}',
    '{"a":"\x01"}',
    '{"a":' + "[" * 5000 + "]" * 5000 + "}",
]


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:20])
def test_an_invalid_row_is_reported_with_its_line(assay: Assay, service: Running, line: str) -> None:
    write("in.jsonl", [row(), "", row(), line, row()])
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    assert ran.code == 2 and "in.jsonl:4:" in ran.err
    assert len(lines("out.jsonl")) == 2


def test_bytes_that_are_not_utf8(assay: Assay, service: Running) -> None:
    Path("in.jsonl").write_bytes(b'{"a":"\xff"}\n')
    assert "UTF-8" in assay("score", "in.jsonl", "--server", service.url).err


def test_a_lone_surrogate_in_a_row_is_preserved(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row("\ud800 #### 7")])
    assert assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url).code == 0
    assert "\\ud800" in Path("out.jsonl").read_text()


def test_a_faulty_item_affects_only_its_own_result(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row(), row(reference={"mode": "number", "gold": "", "extract": "whole"}), row()])
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--server", service.url)
    assert ran.code == 0 and "invalid_reference" in ran.err
    assert [line["result"]["reward"] for line in lines("out.jsonl")] == [1, None, 1]


def test_retryable_nulls_set_the_exit_code(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row()])
    service.service.script.append(lambda item: null(item, "worker_lost"))
    ran = assay("score", "in.jsonl", "--server", service.url)
    assert ran.code == 3 and "--resume" in ran.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["missing.jsonl"], "missing.jsonl"),
        (["in.jsonl", "-o", "in.jsonl"], "overwrite"),
        (["-", "--resume"], "--resume"),
        (["in.jsonl", "--resume"], "--resume"),
        (["in.jsonl", "-o", "no/where.jsonl"], "no/where"),
        (["in.jsonl", "--server", "gopher://x"], "gopher"),
        (["in.jsonl", "--deadline", "-1"], "deadline"),
        (["in.jsonl", "--server", "http://x", "--verifiers", "m.py"], "--verifiers"),
    ],
)
def test_invalid_options_are_refused(assay: Assay, arguments: list[str], word: str) -> None:
    write("in.jsonl", [row()])
    ran = assay("score", *arguments)
    assert ran.code == 2 and word in ran.err
    assert lines("in.jsonl") == [row()]


def test_a_dead_service_leaves_rows_unfinished_not_zero(assay: Assay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.client.endpoints.FIRST_BACKOFF_S", 0.001)
    write("in.jsonl", [row()])
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--server", "http://127.0.0.1:9")
    assert ran.code == 3 and "no answer" in ran.err and Path("out.jsonl").read_text() == ""


def test_an_explanation_marks_the_span_and_shows_control_characters(assay: Assay, service: Running) -> None:
    write("in.jsonl", [row("\x1b[31mred\x07\n#### 8", id="a"), row(id="b")])
    ran = assay("score", "in.jsonl", "-o", "out.jsonl", "--explain", "a", "--server", service.url)
    assert "\\x1b[31mred\\x07" in ran.err and "⟦8⟧" in ran.err and "\x1b" not in ran.err
    assert "differs from every gold" in ran.err and ran.err.count("──") == 1
