"""Programs judged by input and output: APPS, TACO, CodeContests, LiveCodeBench.

All of them become `stdio` or `function` tests. Nothing is unpickled: LiveCodeBench's private tests are base64 of zlib
of a pickled text, of which only the text opcode is read (`pickletools` names opcodes without executing them).
Not covered: problems whose published checker is special; their rows carry the outputs as they are, and `assay audit`
finds those that need a checker.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import pickletools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.datasets.adapters.base import Adapter, Fields, Options, fenced, json_of, name_of, text
from assay.datasets.records import RecordFault

MAX_TESTS = 1000
"""What one row may carry; of more, the first are taken."""
_LONGEST_PRIVATE = 256 << 20
_IMPORTED = """from typing import *
from collections import *
from functools import *
from heapq import *
from itertools import *
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
from math import inf, gcd, sqrt, ceil, floor, comb, factorial
"""
"""What the published runners import before a solution that fills in starter code."""
_TEXT_OPCODES = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_FRAME_OPCODES = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"})


def reference_of_tests(tests: Any, *, limits: Fields | None = None) -> dict[str, Any]:
    """Return the reference for `{"inputs": […], "outputs": […], "fn_name"?}` (APPS, TACO, verl). Raises
    `RecordFault`.
    """
    if not isinstance(tests, Mapping):
        raise RecordFault("the tests are no object with inputs and outputs")
    inputs, outputs = tests.get("inputs"), tests.get("outputs")
    if not (isinstance(inputs, list) and isinstance(outputs, list)) or len(inputs) != len(outputs):
        raise RecordFault("inputs and outputs are not two lists of one length")
    if not inputs:
        raise RecordFault("no tests")
    name = tests.get("fn_name")
    pairs = list(zip(inputs, outputs, strict=True))[:MAX_TESTS]
    if name:
        return _reference("function", [_call(str(name), given, wanted) for given, wanted in pairs], limits)
    return _reference("stdio", [_stdio(given, wanted) for given, wanted in pairs], limits)


def _reference(mode: str, tests: list[dict[str, Any]], limits: Fields | None = None) -> dict[str, Any]:
    common = {"prefix": _IMPORTED} if mode == "function" else {}
    return {"language": "python", "mode": mode, "tests": tests, **common, **({"limits": limits} if limits else {})}


def _stdio(given: Any, wanted: Any) -> dict[str, Any]:
    return {"stdin": _lines(given), "expected_stdout": _lines(wanted)}


def _lines(value: Any) -> str:
    """Text, or a list of lines."""
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    if not isinstance(value, str):
        raise RecordFault("an input or output is no text")
    return value


def _call(name: str, given: Any, wanted: Any) -> dict[str, Any]:
    """APPS wraps a single result in a list; arguments are a list."""
    if not isinstance(given, list):
        raise RecordFault("the input of a function test is no list of arguments")
    single = isinstance(wanted, list) and len(wanted) == 1
    return {"entry_point": name, "args": given, "expected": wanted[0] if single else wanted}


def _apps(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    solutions = json_of(fields, "solutions") if fields.get("solutions") else []
    worked = next((s for s in solutions if isinstance(s, str)), None) if isinstance(solutions, list) else None
    starter = fields.get("starter_code")
    prompt = text(fields, "question")
    yield {
        **name_of(fields.get("problem_id") or fields.get("id") or fields.get("name")),
        "prompt": f"{prompt}\n\n{fenced(starter)}" if isinstance(starter, str) and starter.strip() else prompt,
        "verifier": "code",
        "reference": reference_of_tests(json_of(fields, "input_output"), limits=_taco_limits(fields)),
        **({"gold_completion": fenced(worked)} if worked else {}),
    }


def _taco_limits(fields: Fields) -> dict[str, Any] | None:
    """TACO says `2.0 seconds` and `256.0 megabytes`."""
    seconds = str(fields.get("time_limit") or "").partition(" ")[0]
    try:
        return {"wall_s": min(30.0, max(1.0, float(seconds)))}
    except ValueError:
        return None


APPS = Adapter(
    name="apps", summary="question, input_output, solutions (APPS, TACO)", columns=("question", "input_output"),
    convert=_apps,
)  # fmt: skip

_PYTHON3 = 3
_SUITES = ("public_tests", "private_tests", "generated_tests")


def _code_contests(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    tests = [test for suite in _SUITES for test in _suite(fields.get(suite), suite)]
    if not tests:
        raise RecordFault("no tests")
    if fields.get("input_file") or fields.get("output_file"):
        raise RecordFault("the problem reads or writes a file (input_file, output_file)")
    limit = fields.get("time_limit")
    seconds = limit.get("seconds", 0) + limit.get("nanos", 0) / 1e9 if isinstance(limit, Mapping) else 0
    worked = _solution(fields.get("solutions"))
    yield {
        **name_of(fields.get("name")),
        "prompt": text(fields, "description"),
        "verifier": "code",
        "reference": _reference("stdio", tests[:MAX_TESTS], {"wall_s": min(30.0, 3 * seconds)} if seconds else None),
        **({"gold_completion": fenced(worked)} if worked else {}),
    }


def _suite(suite: Any, name: str) -> list[dict[str, Any]]:
    if not suite:
        return []
    if isinstance(suite, list):  # Parquet writers turn the columns into a list of pairs
        suite = {"input": [t.get("input") for t in suite], "output": [t.get("output") for t in suite]}
    given, wanted = suite.get("input"), suite.get("output")
    if not (isinstance(given, list) and isinstance(wanted, list) and len(given) == len(wanted)):
        raise RecordFault(f"column {name} is not two lists of one length")
    return [_stdio(*pair) for pair in zip(given, wanted, strict=True)]


def _solution(solutions: Any) -> str | None:
    """Return the first solution in Python 3."""
    if not isinstance(solutions, Mapping):
        return None
    pairs = zip(solutions.get("language") or [], solutions.get("solution") or [], strict=False)
    return next((code for language, code in pairs if language in (_PYTHON3, "PYTHON3") and isinstance(code, str)), None)


CODE_CONTESTS = Adapter(
    name="code_contests", summary="description, public_tests, private_tests, … (deepmind/code_contests)",
    columns=("description", "public_tests"), convert=_code_contests,
)  # fmt: skip


def _live_code_bench(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    tests = [*_published(fields, "public_test_cases"), *_published(fields, "private_test_cases")]
    if not tests:
        raise RecordFault("no tests")
    name = (json_of(fields, "metadata") or {}).get("func_name")
    kinds = {test.get("testtype") for test in tests}
    if kinds == {"functional"} and name:
        reference = _reference("function", [_functional(str(name), test) for test in tests[:MAX_TESTS]])
    elif kinds == {"stdin"}:
        reference = _reference("stdio", [_stdio(t.get("input"), t.get("output")) for t in tests[:MAX_TESTS]])
    else:
        raise RecordFault("tests of several kinds, or functional ones without metadata.func_name")
    starter = fields.get("starter_code")
    prompt = text(fields, "question_content")
    yield {
        **name_of(fields.get("question_id")),
        "prompt": f"{prompt}\n\n{fenced(starter)}" if isinstance(starter, str) and starter.strip() else prompt,
        "verifier": "code",
        "reference": reference,
    }


def _published(fields: Fields, name: str) -> list[Mapping[str, Any]]:
    value = fields.get(name)
    if not value:
        return []
    try:
        tests = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        tests = _packed(str(value), name)
    if not isinstance(tests, Sequence) or not all(isinstance(test, Mapping) for test in tests):
        raise RecordFault(f"column {name} is no list of tests")
    return list(tests)


def _packed(value: str, name: str) -> Any:
    """Return the tests behind base64, zlib and one pickled text. Nothing is unpickled."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(value, validate=True), _LONGEST_PRIVATE)
        if not unpacker.eof:
            raise RecordFault(f"column {name} is longer than {_LONGEST_PRIVATE >> 20} MB")
        return json.loads(_pickled_text(data))
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        raise RecordFault(f"column {name} is neither JSON nor a packed text") from None


def _pickled_text(data: bytes) -> str:
    """Return the only text of a pickle that holds nothing else. Raises ValueError."""
    found = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in _TEXT_OPCODES:
            found.append(argument)
        elif opcode.name not in _FRAME_OPCODES:
            raise ValueError("a pickle of more than one text")
    if len(found) != 1:
        raise ValueError("a pickle of more than one text")
    return str(found[0])


def _functional(name: str, test: Fields) -> dict[str, Any]:
    """Return each line of the input is one argument; all are JSON, or Python literals."""
    lines = str(test.get("input", "")).strip("\n").split("\n")
    return {"entry_point": name, "args": [_value(line) for line in lines], "expected": _value(str(test.get("output")))}


def _value(line: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(line)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise RecordFault("an argument or result of a functional test is no literal")


LIVE_CODE_BENCH = Adapter(
    name="live_code_bench", summary="question_content, public_test_cases, private_test_cases (LiveCodeBench)",
    columns=("question_content", "public_test_cases"), convert=_live_code_bench,
)  # fmt: skip
