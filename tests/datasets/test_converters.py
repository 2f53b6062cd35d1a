# ruff: noqa: E501
"""Every published format becomes rows whose gold is accepted; faults are reported, nothing is unpickled."""

from __future__ import annotations

import base64
import json
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.client import Client
from assay.datasets import CONVERTERS, Options, convert, find, read, recognise
from assay.datasets.audit.golds import gold_of
from assay.datasets.converters.instructions import VERIFIES

from .conftest import SHARED, faults_of, rows_of

Write = Callable[..., Path]
ROWS = int(os.environ.get("ASSAY_ADAPTER_ROWS", "1000"))
SUM = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
SOLUTION = "a, b = map(int, input().split())\nprint(a + b)\n"


def pickled(text: str) -> bytes:
    """Return the output of `pickle.dumps` for a text (protocol 4), written by hand."""
    data = text.encode()
    return b"\x80\x04X" + len(data).to_bytes(4, "little") + data + b"\x94."


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


PRIVATE = packed(pickled(json.dumps([{"input": "5 6", "output": "11", "testtype": "stdin"}])))
RECORDS: dict[str, dict[str, Any]] = {
    "gsm8k": {"question": "Two and two?", "answer": "2+2=<<2+2=4>>4\n#### 1,004"},
    "mmlu": {"question": "Two and two?", "subject": "arithmetic", "choices": ["3", "4", "5", "6"], "answer": 1},
    "mmlu_pro": {
        "question_id": 70,
        "question": "Two and two?",
        "options": ["3", "4", "5", "N/A"],
        "answer": "B",
        "answer_index": 1,
    },
    "arc": {
        "id": "Mercury_1",
        "question": "Which is a metal?",
        "choices": {"text": ["wood", "iron", "glass"], "label": ["1", "2", "3"]},
        "answerKey": "2",
    },
    "gpqa": {
        "Question": "Which is heaviest?",
        "Correct Answer": "uranium",
        "Incorrect Answer 1": "lead",
        "Incorrect Answer 2": "iron",
        "Incorrect Answer 3": "gold",
        "Record ID": "rec1",
    },
    "xlam": {
        "id": 3,
        "query": "Weather in Rome?",
        "tools": json.dumps(
            [{"name": "weather", "description": "", "parameters": {"city": {"type": "str", "description": "city"}}}]
        ),
        "answers": json.dumps([{"name": "weather", "arguments": {"city": "Rome"}}]),
    },
    "aime": {"id": 60, "problem": "How many?", "answer": "033"},
    "aime_2024": {"ID": "2024-I-1", "Problem": "How many?", "Answer": 33, "Solution": "It is 33."},
    "synthetic_1": {
        "problem_id": "vfm_1",
        "task_type": "verifiable_math",
        "prompt": "Half?",
        "verification_info": json.dumps({"ground_truth": "\\frac{1}{2}"}),
        "gold_standard_solution": "So \\boxed{\\frac{1}{2}}.",
    },
    "math": {"problem": "Half?", "solution": "So \\boxed{\\frac{1}{2}}.", "level": "Level 1", "type": "Algebra"},
    "humaneval": {
        "task_id": "HumanEval/0",
        "prompt": 'from typing import List\n\ndef f(x: List[int]) -> int:\n    """sum"""\n',
        "canonical_solution": "    return sum(x)\n",
        "test": "def check(candidate):\n    assert candidate([1, 2]) == 3\n",
        "entry_point": "f",
    },
    "mbpp": {
        "task_id": 2,
        "text": "Add.",
        "code": "def add(a, b):\n    return a + b",
        "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"],
        "test_setup_code": "",
    },
    "bfcl": {
        "id": "simple_0",
        "question": [[{"role": "user", "content": "area?"}]],
        "function": [
            {
                "name": "area",
                "parameters": {
                    "type": "dict",
                    "properties": {"base": {"type": "float"}, "unit": {"type": "string"}},
                    "required": ["base"],
                },
            }
        ],
        "ground_truth": [{"area": {"base": [10, 10.0], "unit": ["m", ""]}}],
    },
    "ifeval": {
        "key": 1000,
        "prompt": "Write without commas.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{}, {"relation": "at least", "num_words": 5, "keyword": None}],
    },
    "apps": {
        "problem_id": 7,
        "question": "Add.",
        "input_output": json.dumps(SUM),
        "solutions": json.dumps([SOLUTION]),
        "starter_code": "",
    },
    "code_contests": {
        "name": "1_A",
        "description": "Add.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["5 5\n"], "output": ["10\n"]},
        "generated_tests": {"input": [], "output": []},
        "solutions": {"language": [2, 3], "solution": ["int main(){}", SOLUTION]},
        "time_limit": {"seconds": 2, "nanos": 0},
    },
    "live_code_bench": {
        "question_id": "x1",
        "question_content": "Add.",
        "starter_code": "",
        "metadata": "{}",
        "public_test_cases": json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}]),
        "private_test_cases": PRIVATE,
    },
    "deep_math": {"question": "Half of one?", "final_answer": "\\frac{1}{2}", "difficulty": 1},
    "verl": {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "2+2?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "4"},
        "extra_info": {"split": "train", "index": 3},
    },
    "trl": {"prompt": [{"role": "user", "content": "2+2?", "tool_calls": None}], "answer": "4"},
    "open_instruct": {
        "messages": [{"role": "user", "content": "Say hi, in capitals."}],
        "ground_truth": json.dumps({"func_name": "validate_uppercase"}),
        "dataset": "ifeval",
    },
    "reasoning_gym": {
        "dataset": "chain_sum",
        "entry": {"question": "1 + 1?", "answer": "2", "metadata": {"source_index": 0}},
    },
}
GIVEN = {"live_code_bench": f"```python\n{SOLUTION}```", "ifeval": "one two three four five six", "open_instruct": "HI"}


@pytest.fixture(scope="module")
def client() -> Any:
    with Client("embedded:", lanes=1) as opened:
        yield opened


@pytest.mark.parametrize("name", sorted(set(RECORDS) - {"reasoning_gym"}))
def test_the_gold_of_each_format_is_accepted(client: Client, name: str) -> None:
    (row,) = rows_of(name, RECORDS[name])
    gold = GIVEN.get(name) or gold_of(row)
    assert row["source"] == name and row["prompt"] and gold is not None
    item = {key: row[key] for key in ("verifier", "reference", "prompt")}
    (result,) = client.score([{**item, "completion": gold}])
    assert result.reward == 1, (result.reason, result.error)


@pytest.mark.parametrize("name", RECORDS)
def test_each_format_is_recognised_by_its_columns(name: str) -> None:
    assert recognise(RECORDS[name]).name == name


def test_every_converter_has_an_example() -> None:
    assert set(RECORDS) == set(CONVERTERS)


@pytest.mark.parametrize("name", RECORDS)
def test_a_malformed_record_is_reported_and_the_rest_converted(write: Write, name: str) -> None:
    good = RECORDS[name]
    broken = [
        {**good, column: value} for column in CONVERTERS[name].columns for value in (None, 5, [], {"x": []}, [[5]])
    ]
    path = write([good, *broken, "{", good])
    count, left_out = faults_of(name, path)
    assert count >= 2 and all(why for _, why in left_out)
    assert {place for place, _ in left_out} >= {len(broken) + 2}
    assert count + len(left_out) == len(broken) + 3


def test_function_tests_of_every_set() -> None:
    calls = {"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]}
    (apps,) = rows_of("apps", {**RECORDS["apps"], "input_output": calls})
    (verl,) = rows_of(
        "verl", {**RECORDS["verl"], "data_source": "taco", "reward_model": {"ground_truth": json.dumps(calls)}}
    )
    functional = json.dumps([{"input": "1\n2", "output": "3", "testtype": "functional"}])
    lcb = {
        **RECORDS["live_code_bench"],
        "metadata": '{"func_name": "add"}',
        "public_test_cases": functional,
        "private_test_cases": "",
    }
    (live,) = rows_of("live_code_bench", lcb)
    for row in (apps, verl, live):
        assert row["reference"]["tests"] == [{"entry_point": "add", "args": [1, 2], "expected": 3}]


PLANTED = {
    "a call": b"cpytest\nfail\n(S'unpickled'\ntR.",
    "a call, new style": b"\x80\x04\x8c\x06pytest\x8c\x04fail\x93\x8c\x01x\x85R.",
    "a list": b"\x80\x04]X\x01\x00\x00\x00aa.",
    "two texts": b"\x80\x04X\x01\x00\x00\x00aX\x01\x00\x00\x00b\x86.",
    "a number": b"\x80\x04K\x05.",
    "cut off": pickled("[]")[:-1],
    "no pickle": b"nonsense",
}


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_is_unpickled(write: Write, name: str) -> None:
    record = {**RECORDS["live_code_bench"], "private_test_cases": packed(PLANTED[name])}
    _, left_out = faults_of("live_code_bench", write([record]))
    assert [why for _, why in left_out] == ["column private_test_cases is neither JSON nor a packed text"]


def test_a_decompression_bomb_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.datasets.converters.competitive._LONGEST_PRIVATE", 1 << 20)
    bomb = packed(b"x" * (8 << 20))
    _, left_out = faults_of("live_code_bench", write([{**RECORDS["live_code_bench"], "private_test_cases": bomb}]))
    assert "longer than" in left_out[0][1]


PARAMS = {
    "keywords": ["a"],
    "forbidden_words": ["b"],
    "keyword": "c",
    "frequency": 2,
    "relation": "at least",
    "letter": "d",
    "let_frequency": 3,
    "let_relation": "less than",
    "language": "de",
    "num_sentences": 2,
    "num_words": 3,
    "num_paragraphs": 2,
    "nth_paragraph": 1,
    "first_word": "e",
    "num_placeholders": 1,
    "postscript_marker": "P.S.",
    "num_bullets": 2,
    "num_highlights": 1,
    "section_spliter": "Section",
    "num_sections": 2,
    "prompt_to_repeat": "f",
    "end_phrase": "g",
    "capital_frequency": 1,
    "capital_relation": "at least",
}


def test_every_function_of_open_instruct_is_a_constraint() -> None:
    for name, (kind, names) in VERIFIES.items():
        theirs = {ours: their for their, ours in names.items()}
        asked = {theirs.get(key, key): value for key, value in PARAMS.items()} | {
            "func_name": name,
            "quantifier": "at least",
        }
        (row,) = rows_of("open_instruct", {**RECORDS["open_instruct"], "ground_truth": json.dumps(asked)})
        assert row["reference"]["constraints"][0]["type"], (name, kind)


def test_a_custom_reference_template() -> None:
    (row,) = rows_of(
        "trl",
        {"prompt": "2+2?", "gold": "4"},
        verifier="exact",
        reference={"mode": "number", "gold": "{gold}", "extract": "last_number"},
    )
    assert (row["verifier"], row["reference"]["gold"]) == ("exact", "4")


@pytest.mark.parametrize("name", RECORDS)
def test_memory_does_not_grow_with_the_file(write: Write, name: str) -> None:
    """`ASSAY_ADAPTER_ROWS=100000` in `make soak`."""
    path = write(json.dumps(RECORDS[name]) for _ in range(ROWS))
    tracemalloc.start()
    count, left_out = faults_of(name, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, left_out) == (ROWS, []) and peak < 4 << 20


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared here")
def test_published_files_are_converted_completely(tmp_path: Path) -> None:
    for name, file, count in (("gsm8k", "gsm8k_test.jsonl", 1319), ("humaneval", "HumanEval.jsonl.gz", 164)):
        assert faults_of(name, SHARED / "data" / file) == (count, [])


def test_names_are_unique_over_all_files(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.json").write_text(json.dumps(RECORDS["math"], indent=1))
    rows = list(convert(read([tmp_path]), find("math"), Options(), lambda record, why: None))
    assert [row["id"] for row in rows] == [row["group"] for row in rows] == ["math-1", "math-2", "math-3"]


@pytest.mark.parametrize(("said", "reward"), [("x and x", 1), ("x", 0), ("x, x and x", 0)])
def test_open_instruct_counts_are_exact(client: Client, said: str, reward: int) -> None:
    asked = json.dumps({"func_name": "verify_keyword_frequency", "word": "x", "N": 2})
    (row,) = rows_of("open_instruct", {**RECORDS["open_instruct"], "ground_truth": asked})
    (result,) = client.score([{"verifier": "format", "reference": row["reference"], "completion": said}])
    assert result.reward == reward


def test_around_allows_a_tenth_or_one_sentence(client: Client) -> None:
    for name, n, texts in (
        ("validate_word_constraint", 20, {"w " * 19: 1, "w " * 22: 1, "w " * 23: 0}),
        ("verify_sentence_constraint", 3, {"A b. C d.": 1, "A b.": 0}),
    ):
        asked = json.dumps({"func_name": name, "N": n, "quantifier": "around"})
        (row,) = rows_of("open_instruct", {**RECORDS["open_instruct"], "ground_truth": asked})
        results = client.score(
            [{"verifier": "format", "reference": row["reference"], "completion": text} for text in texts]
        )
        assert [result.reward for result in results] == list(texts.values()), name


def test_the_second_format_of_open_instructs_instructions() -> None:
    asked = [{"instruction_id": ["punctuation:no_comma", "detectable_format:title"], "kwargs": [None, {}]}]
    record = {**RECORDS["open_instruct"], "ground_truth": str(asked), "dataset": ["ifeval"]}
    (row,) = rows_of("open_instruct", record)
    assert [c["type"] for c in row["reference"]["constraints"]] == ["no_comma", "title"]


@pytest.mark.parametrize("record", [{"answer": "proof"}, {"answer": "notfound"}, {"solution": "no box", "answer": ""}])
def test_a_problem_without_an_answer_is_a_fault(write: Write, record: dict[str, str]) -> None:
    assert faults_of("math", write([{**RECORDS["math"], **record}]))[0] == 0


def test_values_without_a_json_form_make_the_record_faulty(write: Write) -> None:
    broken = {**RECORDS["apps"], "input_output": '{"fn_name": "f", "inputs": [[NaN]], "outputs": [[1]]}'}
    count, left_out = faults_of("apps", write([broken, RECORDS["apps"]]))
    assert count == 1 and "JSON" in left_out[0][1]


def test_starter_code_may_use_what_the_published_runners_import(client: Client) -> None:
    calls = {"fn_name": "f", "inputs": [[[3, 1]]], "outputs": [[1]]}
    (row,) = rows_of("apps", {**RECORDS["apps"], "input_output": calls})
    code = "```python\nclass Solution:\n    def f(self, x: List[int]) -> int:\n        heapify(x)\n        return x[0]\n```"
    (result,) = client.score([{"verifier": "code", "reference": row["reference"], "completion": code}])
    assert result.reward == 1


def test_curated_verl_rows_can_be_read_back(client: Client) -> None:
    reference = {"mode": "number", "gold": "4", "extract": "last_number"}
    record = {
        **RECORDS["verl"],
        "reward_model": {"ground_truth": json.dumps(reference)},
        "extra_info": {"verifier": "exact", "index": 1},
    }
    (row,) = rows_of("verl", record)
    assert (row["verifier"], row["reference"]) == ("exact", reference)
    (maths,) = rows_of("verl", {**RECORDS["verl"], "data_source": "codeforces_math"})
    assert maths["verifier"] == "math"
