# ruff: noqa: E501
"""The audit finds faulty rows and does not report clean ones."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.client import AsyncClient
from assay.datasets import Record
from assay.datasets.audit import Depth, Report, TestSet, as_html, as_json, audit

from .conftest import SHARED, rows_of

Row = dict[str, Any]


def run(rows: list[Row], test_set: TestSet | None = None, depth: Depth | None = None) -> Report:
    async def whole() -> Report:
        async with AsyncClient("embedded:", lanes=2) as client:
            records = (Record("test", place, row) for place, row in enumerate(rows, 1))
            return await audit(client, records, test_set=test_set, depth=depth or Depth(repeats=4))

    return asyncio.run(whole())


def kinds(report: Report, name: str) -> set[str]:
    return {finding.kind for finding in report.findings if finding.row == name}


def program(n: int) -> Row:
    tests = [{"stdin": f"{a} {n}\n", "expected_stdout": f"{a * n + 1}\n"} for a in (2, 5, 9)]
    source = "a, b = map(int, input().split())\nprint(a * b + 1)"
    return {
        "id": f"program-{n}",
        "verifier": "code",
        "prompt": f"Read a and {n}; print their product plus one. Variant {n}.",
        "reference": {"language": "python", "mode": "stdio", "tests": tests},
        "gold_completion": f"```python\n{source}\n```",
    }


def choice(n: int) -> Row:
    options = [f"{n} apples", f"{n + 1} pears", f"{n + 2} plums"]
    return {
        "id": f"choice-{n}",
        "verifier": "exact",
        "prompt": f"Which of these is {n + 1} pears, case {n}?",
        "reference": {"mode": "choice", "gold": "B", "choices": options, "extract": "choice"},
    }


def published() -> list[Row]:
    """Return clean rows of real data."""
    gsm = [json.loads(line) for line in (SHARED / "data/gsm8k_test.jsonl").read_text().splitlines()[:315]]
    bfcl = SHARED / "data/bfcl"
    questions, answers = (
        [json.loads(line) for line in (bfcl / f"simple_python{part}.jsonl").read_text().splitlines()[:120]]
        for part in ("", ".answers")
    )
    rows = rows_of("gsm8k", *gsm) + rows_of("bfcl", *({**q, **a} for q, a in zip(questions, answers, strict=True)))
    return rows + [program(n) for n in range(25)] + [choice(n) for n in range(40)]


def changed(row: Row, **reference: Any) -> Row:
    return {**row, "reference": {**row["reference"], **reference}}


def with_code(row: Row, source: str) -> Row:
    return {**row, "gold_completion": f"```python\n{source}\n```"}


def wrong_test(row: Row) -> Row:
    return changed(row, tests=[*row["reference"]["tests"], {"stdin": "1 1\n", "expected_stdout": "77\n"}])


def weak_test(row: Row) -> Row:
    return with_code(changed(row, tests=[{"stdin": "", "expected_stdout": "0\n"}]), "x = 3 - 3\nprint(x)")


def flaky(row: Row) -> Row:
    return with_code(
        row, "import os\na, b = map(int, input().split())\nprint(a * b + 1 if os.urandom(1)[0] > 127 else 0)"
    )


def several(row: Row) -> Row:
    return {**row, "prompt": row["prompt"] + " If there are multiple answers, print any of them."}


def unknown_tool(row: Row) -> Row:
    calls = row["reference"]["expect"]["calls"]
    return changed(row, expect={"calls": [{**calls[0], "name": "no_such_tool"}]})


def broken_schema(row: Row) -> Row:
    tools = [
        {**tool, "parameters": {**tool["parameters"], "required": ["something_else"]}}
        for tool in row["reference"]["tools"]
    ]
    return changed(row, tools=tools)


SPOILS: dict[str, tuple[str, Callable[[Row], Row], set[str]]] = {
    "another answer than the worked one": ("gsm8k", lambda row: changed(row, answer="123456"), {"gold_rejected"}),
    "an answer that does not parse": ("gsm8k", lambda row: changed(row, answer="   "), {"refused"}),
    "the answer stands in the prompt": (
        "gsm8k",
        lambda row: {**row, "prompt": f"{row['prompt']} (\\boxed{{{row['reference']['answer']}}})"},
        {"gamed"},
    ),
    "a test that is wrong": ("program", wrong_test, {"gold_rejected"}),
    "a test that anything passes": ("program", weak_test, {"gamed"}),
    "a gold that is flaky": ("program", flaky, {"flaky", "gold_rejected"}),
    "a problem with several answers": ("program", several, {"needs_checker"}),
    "a tool that is not offered": ("simple_python", unknown_tool, {"gold_unknown_tool", "refused"}),
    "arguments that break the schema": ("simple_python", broken_schema, {"gold_breaks_schema", "refused"}),
    "a label out of range": ("choice", lambda row: changed(row, gold="Q"), {"refused"}),
}


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared here")
def test_audit_finds_50_faulty_rows_of_ten_kinds_among_500() -> None:
    rows, spoiled = published(), dict[str, set[str]]()
    by_start: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_start[row["id"].rpartition("-")[0] or row["id"].rpartition("_")[0]].append(place)
    for start, spoil, expected in SPOILS.values():
        for _ in range(5):
            place = by_start[start].pop(len(by_start[start]) // 2)
            rows[place] = spoil(rows[place])
            spoiled[rows[place]["id"]] = expected
    assert (len(rows), len(spoiled)) == (500, 50)
    report = run(rows, depth=Depth(repeats=4))
    missed = {name: expected for name, expected in spoiled.items() if not kinds(report, name) & expected}
    assert missed == {}
    false_alarms = report.flagged() - set(spoiled)
    assert len(false_alarms) <= 0.01 * (len(rows) - len(spoiled)), false_alarms


def test_a_gold_that_passes_only_sometimes_is_flaky() -> None:
    """Half of the runs fail: all eight runs agree in one of 128 rows."""
    source = "import os\na, b = map(int, input().split())\nprint(a * b + 1 if os.urandom(1)[0] > 127 else 0)"
    rows = [with_code(changed(program(n), tests=program(n)["reference"]["tests"][:1]), source) for n in range(4)]
    report = run(rows, depth=Depth(repeats=8, mutants=False, degenerate=False))
    assert sum("flaky" in kinds(report, row["id"]) for row in rows) >= 2


def test_rows_of_the_same_prompt() -> None:
    first, same, other, spaced = (dict(choice(1), id=name) for name in ("first", "same", "other", "spaced"))
    other = changed(other, gold="A")
    spaced["prompt"] = "  ".join(spaced["prompt"].upper().split())
    report = run([first, same, other, spaced, choice(2)])
    found = [
        kinds(report, name) & {"duplicate", "contradictory"}
        for name in ("first", "same", "other", "spaced", "choice-2")
    ]
    assert found == [{"contradictory"}, {"duplicate"}, {"contradictory"}, {"duplicate"}, set()]


MATH_ROW: Row = {"verifier": "math", "prompt": "What is six times seven?", "reference": {"answer": "42"}}
CASES: dict[str, tuple[list[Row], set[str]]] = {
    "duplicates by case and marks": (
        [MATH_ROW, {**MATH_ROW, "prompt": "what is Six times seven"}],
        {"duplicate"},
    ),
    "another sign is another prompt": (
        [{**MATH_ROW, "prompt": "Simplify x + 1."}, {**MATH_ROW, "prompt": "Simplify x - 1."}],
        set(),
    ),
    "one prompt under two verifiers": (
        [MATH_ROW, {**MATH_ROW, "verifier": "exact", "reference": {"mode": "number", "gold": 42, "extract": "boxed"}}],
        set(),
    ),
    "the answer in the prompt": ([{**MATH_ROW, "prompt": "Six times seven? (Answer: 42)"}], {"answer_in_prompt"}),
    "a number of the problem": ([{**MATH_ROW, "prompt": "How many are 42 of 42 apples?"}], set()),
    "a word of the prompt": (
        [
            {
                "verifier": "exact",
                "prompt": "Paris or London: which is the capital of France?",
                "reference": {"mode": "string", "gold": "Paris", "extract": "answer_line"},
            }
        ],
        {"answer_in_prompt"},
    ),
    "a huge relative tolerance": ([changed(MATH_ROW, tol={"rel": 0.5})], {"loose_tolerance"}),
    "a huge absolute tolerance": ([changed(MATH_ROW, tol={"abs": 40})], {"loose_tolerance"}),
    "a small tolerance": ([changed(MATH_ROW, tol={"rel": 0.001})], set()),
    "a huge tolerance of outputs": ([changed(program(3), compare="float:1")], {"loose_tolerance"}),
    "equal options": ([changed(choice(3), choices=["3 apples", "4 pears", "4  Pears"])], {"equal_options"}),
    "any arguments": (
        [
            {
                "verifier": "tool",
                "reference": {"expect": {"calls": [{"name": "f", "args": {"a": {"$ignore": True}}}]}},
            }
        ],
        {"unchecked_arguments"},
    ),
    "schema: false": ([{"verifier": "schema", "reference": {"schema": False}}], {"unsatisfiable"}),
    "a range without a number": (
        [{"verifier": "format", "reference": {"aggregate": "all", "constraints": [
            {"type": "word_count", "rel": ">", "n": 5}, {"type": "word_count", "rel": "<=", "n": 5},
        ]}}],
        {"unsatisfiable"},
    ),
    "a word required and forbidden": (
        [{"verifier": "format", "reference": {"aggregate": "all", "constraints": [
            {"type": "keywords", "all": ["Red"]}, {"type": "forbidden", "any": ["red", "blue"]},
        ]}}],
        {"unsatisfiable"},
    ),
    "constraints that fit": (
        [{"verifier": "format", "reference": {"aggregate": "all", "constraints": [
            {"type": "word_count", "rel": ">", "n": 5}, {"type": "word_count", "rel": "<=", "n": 9},
        ]}}],
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_faults_of_a_reference(name: str) -> None:
    rows, expected = CASES[name]
    report = run(
        [{"id": f"r{n}", **row} for n, row in enumerate(rows)], depth=Depth(repeats=1, mutants=False, degenerate=False)
    )
    found = {finding.kind for finding in report.findings}
    assert found - {"no_gold", "gold_rejected", "second_opinion"} == expected


def test_tests_that_a_constant_or_a_stub_passes() -> None:
    def function(n: int, wanted: list[int]) -> Row:
        tests = [{"entry_point": "f", "args": [k], "expected": value} for k, value in enumerate(wanted)]
        return {
            "id": f"f{n}",
            "verifier": "code",
            "reference": {"language": "python", "mode": "function", "tests": tests},
        }

    def asserting(n: int, code: str) -> Row:
        reference = {"language": "python", "mode": "asserts", "tests": [{"test_code": code}]}
        return {"id": f"a{n}", "verifier": "code", "reference": reference}

    rows = [
        function(0, [7, 7, 7]),
        function(1, [7, 8, 7]),
        asserting(0, "assert f(1) is None or f(2)"),
        asserting(1, "assert f(1) == 2\nassert f(2) == 3"),
        asserting(2, "x = [3, 1]\nassert f(x) is x"),
    ]
    report = run(rows, depth=Depth(repeats=1, mutants=False))
    weak = {"gamed", "weak_asserts"}
    assert [kinds(report, row["id"]) & weak for row in rows] == [
        {"gamed"},
        set(),
        {"weak_asserts"},
        set(),
        {"weak_asserts"},
    ]


def test_rows_are_identified_by_line() -> None:
    """Names repeat in published sets: three rows with one name count as three rows."""
    rows = [dict(changed(choice(n), gold="Q"), id="same") for n in range(3)] + [dict(choice(9), id="twice")] * 2
    report = run(rows)
    assert report.bad == 4 and dict(report.kinds()) == {"refused": 3, "duplicate": 1}


def test_pinned_versions_are_the_same_verifiers() -> None:
    pinned = dict(several(program(1)), verifier="code@1")
    assert "needs_checker" in kinds(run([pinned]), pinned["id"])


def test_partial_credit_is_not_reported_as_gamed() -> None:
    row = changed(
        program(2),
        scoring="fraction",
        tests=[{"stdin": "0 0\n", "expected_stdout": "1\n"}, *program(2)["reference"]["tests"]],
    )
    assert kinds(run([row]), row["id"]) <= {"mutant_survives"}


@pytest.mark.parametrize("expect", ["calls", ["calls"], 5, None, {"calls": "none"}])
def test_a_null_expectation_refuses_only_its_row(expect: Any) -> None:
    row = {"id": "x", "verifier": "tool", "prompt": "Call.", "reference": {"tools": [{"name": "f"}], "expect": expect}}
    report = run([row, choice(1)])
    assert (report.rows, report.flagged()) == (2, {"x"}) and "refused" in kinds(report, "x")


def test_every_preset_can_be_audited() -> None:
    reference = {"preset": "r1", "params": {"reference": {"answer": "4"}, "judge": "helpful"}}
    row = {
        "id": "r1",
        "verifier": "composite",
        "prompt": "2+2?",
        "reference": reference,
        "gold_completion": "<think>two and two is four</think>\n\\boxed{4}",
    }
    assert "refused" not in kinds(run([row]), "r1")


def test_prompts_in_a_test_set_are_contaminated() -> None:
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    test_set = TestSet([f"Before. {long.upper()}, after!", "Short one?"])
    rows = [
        dict(choice(n), id=name, prompt=prompt)
        for n, (name, prompt) in enumerate(
            {
                "inside": f"A tale: {long}; and more",
                "short": "short ONE",
                "clean": "one two three four five six seven eight nine ten",
            }.items()
        )
    ]
    report = run(rows, test_set)
    assert [("contaminated" in kinds(report, name)) for name in ("inside", "short", "clean")] == [True, True, False]


def test_rows_near_a_limit_and_rows_that_need_trust() -> None:
    slow = with_code(
        changed(program(3), tests=program(3)["reference"]["tests"][:1], limits={"cpu_s": 1, "wall_s": 20}),
        "import time\na, b = map(int, input().split())\nwhile time.process_time() < 0.75: pass\nprint(a * b + 1)",
    )
    test = "import solution, inspect\nassert 'return 2' in inspect.getsource(f) or f.__code__.co_argcount == 1\nassert f(1) == 2"
    trusting = {
        "id": "trusting",
        "verifier": "code",
        "prompt": "Write f.",
        "gold_completion": "```python\ndef f(x):\n    return 2\n```",
        "reference": {"language": "python", "mode": "asserts", "tests": [{"test_code": test}]},
    }
    report = run([dict(slow, id="slow"), trusting], depth=Depth(repeats=1, mutants=False, degenerate=False))
    assert "near_limit" in kinds(report, "slow") and "needs_low_trust" in kinds(report, "trusting")


def test_a_missing_tolerance_is_reported() -> None:
    row = changed(program(4), tests=[{"stdin": "1 4\n", "expected_stdout": "5.000000\n"}])
    row["prompt"] += " Answers within an absolute or relative error of 10^-6 are accepted."
    source = "a, b = map(int, input().split())\nprint(f'{a * b + 1:.6f}')"
    loose = changed(dict(row, id="loose"), compare="float:1e-6")
    report = run([with_code(row, source), with_code(dict(loose, prompt=row["prompt"] + " Variant."), source)])
    assert "needs_tolerance" in kinds(report, row["id"]) and "needs_tolerance" not in kinds(report, "loose")


def test_an_outage_is_not_the_rows_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX_BACKENDS", "[]")
    report = run([program(1), choice(1)])
    assert kinds(report, "program-1") == {"no_verdict"} and report.flagged() == set()
    assert (report.bad_share, report.unsure_share) == (0.0, 0.5)


def test_reports_escape_untrusted_text() -> None:
    row = dict(changed(choice(1), gold="Q"), id="<script>alert(1)</script>\x1b[31m\u202e")
    report = run([row])
    page, data = as_html(report), json.loads(as_json(report))
    assert "<script" not in page and "\x1b" not in page and "\u202e" not in page and "&lt;script&gt;" in page
    assert data["bad_rows"] == 1 and data["findings"][0]["kind"] == "refused"


def test_the_command_exits_1_above_the_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [choice(n) for n in range(9)] + [changed(choice(9), gold="Q")]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    codes = []
    for bound in ("0", "0.1", "0.2"):
        page = tmp_path / "page.html"
        monkeypatch.setattr(
            "sys.argv",
            [
                "assay",
                "audit",
                str(path),
                "--max-bad",
                bound,
                "--html",
                str(page),
                "--json",
                str(tmp_path / "r.json"),
                "--quiet",
            ],
        )
        with pytest.raises(SystemExit) as ended:
            main()
        codes.append(ended.value.code)
    assert codes == [1, 1, 0] and "line 11" in capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
