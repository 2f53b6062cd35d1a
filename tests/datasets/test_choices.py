"""Sets of multiple choice, of calls and of tables: which answer is right, which is not, and what is left out."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assay.client import Client
from assay.datasets import find, read, recognise

from .conftest import faults_of, rows_of

MMLU = {"question": "Capital of Italy?", "choices": ["Paris", "Rome", "Oslo"], "answer": 1}
BFCL = {
    "id": "simple_1",
    "question": [[{"role": "user", "content": "area?"}]],
    "function": [
        {"name": "area", "parameters": {"type": "dict", "properties": {"b": {"type": "integer"}, "city": None}}},
    ],
    "ground_truth": [{"area": {"b": [2], "city": None}, "volume": None}],
}


def rewards(row: dict[str, Any], completions: list[Any]) -> list[float | None]:
    item = {"verifier": row["verifier"], "reference": row["reference"]}
    with Client("embedded:", lanes=1) as client:
        return [result.reward for result in client.score([{**item, "completion": one} for one in completions])]


@pytest.mark.parametrize("answer", [1, "1", "B"])
def test_an_option_is_right_by_index_or_letter(answer: Any) -> None:
    (row,) = rows_of("mmlu", {**MMLU, "answer": answer})
    assert "B. Rome" in row["prompt"]
    assert rewards(row, ["The answer is B.", "B", "\\boxed{B}", "Rome", "The answer is A.", "Paris", "B or C"]) == [
        1, 1, 1, 1, 0, 0, 0,
    ]  # fmt: skip


def test_gpqa_does_not_always_put_the_right_option_first() -> None:
    names = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
    records = [{"Question": f"Question {n}?", **{name: f"{name} {n}" for name in names}} for n in range(40)]
    rows = rows_of("gpqa", *records)
    assert {row["reference"]["gold"] for row in rows} == set("ABCD")
    for n, row in enumerate(rows):
        right = row["reference"]["choices"]["ABCD".index(row["reference"]["gold"])]
        assert right == f"Correct Answer {n}" and len(set(row["reference"]["choices"])) == 4


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("mmlu", {**MMLU, "answer": 3}),
        ("mmlu", {**MMLU, "answer": "none"}),
        ("mmlu", {**MMLU, "choices": ["Rome"]}),
        ("mmlu", {**MMLU, "choices": "Paris, Rome"}),
        ("arc", {"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "C"}),
        ("xlam", {"query": "q", "tools": "[", "answers": "[]"}),
        ("synthetic_1", {"prompt": "p", "task_type": "llm_judgeable", "verification_info": "{}"}),
        ("aime", {"problem": "p", "answer": None}),
    ],
)
def test_a_record_without_a_usable_answer_is_left_out(tmp_path: Path, name: str, record: dict[str, Any]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(record) + "\n")
    rows, faults = faults_of(name, path)
    assert rows == 0 and len(faults) == 1


def test_nulls_that_parquet_adds_are_no_arguments() -> None:
    (row,) = rows_of("bfcl", BFCL)
    assert row["reference"]["expect"] == {"calls": [{"name": "area", "args": {"b": {"$any": [2]}}}]}
    assert "city" not in row["reference"]["tools"][0]["parameters"]["properties"]
    call = {"type": "function", "function": {"name": "area", "arguments": '{"b": 2}'}}
    assert rewards(row, [[{"role": "assistant", "content": None, "tool_calls": [call]}], "none"]) == [1, 0]


def test_whole_numbers_that_parquet_makes_floats_are_whole() -> None:
    nan = float("nan")
    record = {
        "key": 1,
        "prompt": "p",
        "instruction_id_list": ["length_constraints:number_words", "punctuation:no_comma"],
        "kwargs": [{"num_words": 3.0, "relation": "at least", "num_bullets": nan}, {"num_words": None}],
    }
    (row,) = rows_of("ifeval", record)
    assert row["reference"]["constraints"][0] == {"type": "word_count", "rel": ">=", "n": 3}


def test_a_box_is_not_added_to_a_solution_that_has_none() -> None:
    record = {"problem": "Half?", "solution": "It is one half.", "answer": "\\frac12"}
    (row,) = rows_of("math", record)
    assert "gold_completion" not in row and row["reference"]["answer"] == "\\frac12"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_tables_are_read(tmp_path: Path, suffix: str, mark: str, packed: bool) -> None:
    lines = [["problem", "answer"], ['"What is 1, plus\n1?"', "2"], ["Three?", "3"], ["too", "many", "x"]]
    data = "\r\n".join(mark.join(line) for line in lines).encode("utf-8-sig")
    path = tmp_path / (f"t.{suffix}.gz" if packed else f"t.{suffix}")
    path.write_bytes(gzip.compress(data) if packed else data)
    records = list(read([path]))
    assert [record.fields.get("answer") for record in records[:2]] == ["2", "3"]
    assert records[0].fields["problem"] == "What is 1, plus\n1?" and records[2].fault == "3 columns instead of 2"
    assert recognise(records[0].fields) is find("aime")
