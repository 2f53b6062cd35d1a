"""Sets with columns of their own: xLAM's calls, AIME's problems, SYNTHETIC-1's tasks, and tables of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from assay.datasets.converters.base import Converter, Fields, Options, json_of, name_of, text
from assay.datasets.converters.competitive import reference_of_tests
from assay.datasets.converters.text import last_box, scored_by
from assay.datasets.records import RecordFault

_XLAM_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def _xlam(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    tools, answers = json_of(fields, "tools"), json_of(fields, "answers")
    if not isinstance(tools, list) or not isinstance(answers, list):
        raise RecordFault("columns tools and answers are not lists")
    calls = [{"name": str(call["name"]), "args": call.get("arguments") or {}} for call in answers]
    yield {
        **name_of(fields.get("id")),
        "prompt": text(fields, "query"),
        "verifier": "tool",
        "reference": {
            "tools": [_tool(tool) for tool in tools],
            "syntax": options.syntax,
            "expect": {"calls": calls} if calls else {"no_call": True},
        },
    }


def _tool(tool: Any) -> dict[str, Any]:
    """Return an xLAM tool, whose parameters are named with Python's types, with a JSON schema."""
    given = tool.get("parameters") or {}
    if "properties" in given:
        return dict(tool)
    properties = {name: _property(rule) for name, rule in given.items()}
    required = [
        name for name, rule in given.items() if "optional" not in str(rule.get("type")) and "default" not in rule
    ]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}


def _property(rule: Any) -> dict[str, Any]:
    kind = str(rule.get("type", "")).partition(",")[0].partition("[")[0].strip().lower()
    found = {key: rule[key] for key in ("description", "default", "enum") if rule.get(key) is not None}
    return {**({"type": _XLAM_TYPES[kind]} if kind in _XLAM_TYPES else {}), **found}


XLAM = Converter(
    name="xlam",
    summary="query, tools, answers as JSON text (Salesforce/xlam-function-calling-60k)",
    columns=("query", "tools", "answers"),
    convert=_xlam,
)


def _aime(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    problem, answer = (fields.get(name, fields.get(name.title())) for name in ("problem", "answer"))
    if not isinstance(problem, str) or not problem.strip() or not isinstance(answer, str | int | float):
        raise RecordFault("columns problem and answer are not text and a number")
    gold = str(int(answer)) if isinstance(answer, float) and answer.is_integer() else str(answer).strip()
    if gold.isdecimal():
        gold = str(int(gold))  # AIME writes 033
    yield {
        **name_of(fields.get("id", fields.get("ID"))),
        "prompt": problem,
        **scored_by(fields, options, "math", {"answer": gold, "extract": "auto"}),
    }


AIME = Converter(
    name="aime",
    summary="problem, answer (AIME, AMC, and sets of problems without a solution)",
    columns=("problem", "answer"),
    convert=_aime,
)


def _synthetic_1(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    kind, info = text(fields, "task_type"), json_of(fields, "verification_info")
    made = _TASKS.get(kind)
    if made is None or not isinstance(info, dict):
        raise RecordFault(f"task_type {kind[:60]!r} has no corresponding verifier")
    worked = fields.get("gold_standard_solution")
    checkable = isinstance(worked, str) and (kind != "verifiable_math" or last_box(worked) is not None)
    yield {
        **name_of(fields.get("problem_id")),
        "prompt": fields["prompt"],
        **made(info),
        **({"gold_completion": worked} if checkable else {}),
    }


def _verifiable_math(info: Fields) -> dict[str, Any]:
    return {"verifier": "math", "reference": {"answer": text(info, "ground_truth"), "extract": "auto"}}


def _verifiable_code(info: Fields) -> dict[str, Any]:
    tests = info.get("test_cases")
    if not isinstance(tests, list) or not tests or info.get("language", "python") != "python":
        raise RecordFault("verification_info has no test cases for Python")
    names = {test.get("fn_name") for test in tests}
    if len(names) != 1:
        raise RecordFault("the test cases are of several functions")
    columns = {"inputs": [test.get("input") for test in tests], "outputs": [test.get("output") for test in tests]}
    name = names.pop()
    return {"verifier": "code", "reference": reference_of_tests({**columns, **({"fn_name": name} if name else {})})}


_TASKS: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "verifiable_math": _verifiable_math,
    "verifiable_code": _verifiable_code,
}
AIME_2024 = Converter(
    name="aime_2024",
    summary="Problem, Answer (Maxwell-Jia/AIME_2024)",
    columns=("Problem", "Answer"),
    convert=_aime,
)
SYNTHETIC_1 = Converter(
    name="synthetic_1",
    summary="prompt, task_type, verification_info (PrimeIntellect/SYNTHETIC-1, mathematics and code)",
    columns=("prompt", "task_type", "verification_info"),
    convert=_synthetic_1,
)
