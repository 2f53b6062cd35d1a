"""A row at fault is never a 0: it is decided before any completion is looked at, whatever the completion says."""

from typing import Any

import pytest

from assay.client import Client
from assay.contract.result import Result
from assay.verifiers.code.rows import imported

RIGHT, SORRY = "```python\nprint(1)\n```", "I am sorry, I cannot help with that."
FUNCTION = [{"entry_point": "f", "args": [1], "expected": 1}]
NOPE = "nonexistent_package_of_this_test"
FAULTS: dict[str, dict[str, Any]] = {
    "a prefix imports a missing package": {"prefix": f"import {NOPE}\n"},
    "one of several": {"prefix": f"import json, {NOPE}.sub as x\nfrom math import (sin,\n  cos)\n"},
    "from a missing package": {"prefix": f"import math; x = 1\nfrom {NOPE}.sub import (a,\n b)\n"},
    "a prefix that ends in a function": {
        "prefix": f"import {NOPE}\ndef f(x):\n",
        "mode": "function",
        "tests": FUNCTION,
    },
    "a package of another environment": {"prefix": "import numpy as np\n"},
    "a checker that does not parse": {"checker": {"protocol": "python", "source": "def check(: pass"}},
    "a checker without its function": {"checker": {"protocol": "python", "source": "x = 1"}},
    "a checker of a wrong kind": {"checker": {"protocol": "python", "source": "def check(*a, **k): return 'yes'"}},
    "a checker that raises": {"checker": {"protocol": "python", "source": "def check(*a, **k): return 1 / 0"}},
    "a checker that does not compile": {"checker": {"language": "cpp", "protocol": "testlib", "source": "int main( {"}},
    "an interactor without its function": {"interactor": {"protocol": "python", "source": "x = 1"}},
}
SOUND: dict[str, dict[str, Any]] = {
    "no prefix": {},
    "an import in a try": {"prefix": f"try:\n    import {NOPE}\nexcept ImportError:\n    pass\n"},
    "an import in a text": {"prefix": f"X = '''\nimport {NOPE}\n'''\n"},
    "an import in a comment": {"prefix": f"# import {NOPE}\nimport json\n"},
    "an import of the standard library": {"prefix": "import os.path, json as j\nfrom collections import *\n"},
}


@pytest.fixture(scope="module")
def client() -> Any:
    with Client("embedded:", lanes=1) as client:
        yield client


def results(client: Client, fields: dict[str, Any], *completions: str) -> list[Result]:
    reference: dict[str, Any] = {
        "language": "python",
        "mode": "stdio",
        "tests": [{"stdin": "", "expected_stdout": "1"}],
        **fields,
    }
    for name in ("checker", "interactor"):
        if name in reference:
            reference[name] = {"language": "python", **reference[name]}
    items = [{"verifier": "code", "completion": text, "reference": reference} for text in completions]
    return client.score(items)


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_row_is_invalid_whatever_is_said(client: Client, name: str) -> None:
    for result in results(client, FAULTS[name], SORRY, RIGHT, ""):
        assert result.reward is None and result.error is not None
        assert (result.error.code, result.error.retryable) == ("invalid_reference", False)
        assert result.error.field is not None and result.error.field.split(".")[-1] in (
            "prefix",
            "checker",
            "interactor",
            "source",
        )


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_row_is_scored(client: Client, name: str) -> None:
    assert [result.reward for result in results(client, SOUND[name], RIGHT, SORRY)] == [1.0, 0.0]


def test_a_prefix_that_ends_in_a_function_is_continued(client: Client) -> None:
    fields = {"prefix": "import math\ndef f(x):\n", "mode": "function", "tests": FUNCTION}
    right, wrong = "```python\n    return x\n```", "```python\n    return x + 1\n```"
    assert [result.reward for result in results(client, fields, right, wrong, SORRY)] == [1.0, 0.0, 0.0]


def test_a_language_that_the_host_lacks_is_said_whatever_the_completion(client: Client) -> None:
    from assay.sandbox import language_table

    here = {"python", "c", "cpp", "javascript", "bash", "java", "ruby", "perl", "lua", "php"}
    lacking = [language for language in language_table() if language not in here]
    for language in lacking:
        for result in results(client, {"language": language}, f"```{language}\nx\n```", SORRY):
            if result.error is None:
                continue  # this host has it
            assert (result.error.code, result.error.retryable) == ("unsupported_language", False)
    assert lacking


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a, b.c as d\nfrom e.f import g", ["a", "b", "e"]),
        ("from . import a\nfrom .b import c", []),
        ("if x:\n    import a\nimport b", ["b"]),
        ("import a\ndef f(:\n", ["a"]),
        ("import a\nx = '''open", ["a"]),
        ("import a\nx = (1,\n", ["a"]),
        ("import a\n    import b\n", ["a"]),
        ("importlib = 1\nfrom_ = 2", []),
        ("\x00", []),
    ],
)
def test_imports_are_found_in_any_prefix(source: str, names: list[str]) -> None:
    assert list(imported(source)) == names
