# ruff: noqa: E501
"""Modes stdio and function, shared isolation, limits, languages, checkers and interactors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomllib
from pydantic import ValidationError

from assay.contract.references.code import CodeReference
from assay.sandbox import found_languages
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier
from assay.verifiers.errors import InvalidItem, InvalidReference, SandboxUnavailable, UnsupportedLanguage

Score = Callable[..., Verdict]
needs_cpp = pytest.mark.skipif("cpp" not in found_languages(), reason="no C++ compiler here")


def io(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"stdin": given, "expected_stdout": expected} for given, expected in pairs]


def call(args: list[Any], expected: Any, **fields: Any) -> dict[str, Any]:
    return {"entry_point": "f", "args": args, "expected": expected, **fields}


DOUBLE = "print(int(input()) * 2)"
FOUR = io(("1\n", "2\n"), ("2\n", "4\n"), ("3\n", "6\n"), ("4\n", "8\n"))


def test_all_stops_at_the_first_failure(score: Score) -> None:
    verdict = score("x = int(input())\nprint(2 if x == 1 else 0)", FOUR)
    assert (verdict.reward, verdict.reason) == (0, "wrong_output")
    assert [test["status"] for test in verdict.tests or []] == ["passed", "wrong_output"]


def test_fraction_runs_them_all(score: Score) -> None:
    verdict = score("x = int(input())\nprint(x * 2 if x != 2 else 1 / 0)", FOUR, scoring="fraction")
    assert verdict.reward == verdict.score == 0.75
    assert [test["status"] for test in verdict.tests or []] == ["passed", "runtime_error", "passed", "passed"]


def test_results_never_hold_output_or_expectation(score: Score) -> None:
    verdict = score("print('s3cr3t-output')", io(("", "s3cr3t-expected\n")))
    assert "s3cr3t-expected" not in str(verdict) and "s3cr3t-output" not in str(verdict.tests)


def test_tests_can_be_hidden(score: Score) -> None:
    assert score(DOUBLE, FOUR, hide_tests=True).tests is None


@pytest.mark.parametrize("isolation", ["test", "shared"])
@pytest.mark.parametrize(
    ("code", "reward"),
    [
        (DOUBLE, 1.0),
        ("import sys\nprint(int(sys.stdin.readline()) * 2)\nsys.exit()", 1.0),
        ("x = int(input())\nprint(x * 2)\nif x == 3: raise SystemExit(1)", 0.75),
        (
            "import builtins\nn = getattr(builtins, 'n', 0)\nbuiltins.n = n + 1\nprint(int(input()) * 2 if n == 0 else 0)",
            1.0,
        ),
        ("import os\nprint(int(input()) * 2, flush=True)\nos._exit(0)", 1.0),
        (
            "import sys\nd = sys.stdin.read()\nsys.stdin.close()\nsys.stdout.write(str(int(d) * 2))\nsys.stdout.close()",
            1.0,
        ),
        ("import threading\nthreading.Thread(target=lambda: print(int(input()) * 2)).start()", 1.0),
        ("print(2)\nprint(4)\nprint(6)\nprint(8)", 0.0),
    ],
)
def test_shared_isolation_gives_the_isolated_verdict(score: Score, code: str, reward: float, isolation: str) -> None:
    assert score(code, FOUR, scoring="fraction", isolation=isolation).reward == reward


def test_shared_isolation_of_calls_gives_the_isolated_verdict(score: Score) -> None:
    tests = [call([n], n) for n in range(4)]
    counter = "n = -1\ndef f(x):\n  global n\n  n += 1\n  return n"
    assert score(counter, tests, "function", scoring="fraction").reward == 0.25
    assert score("def f(x): return x", tests, "function", isolation="shared").reward == 1
    # A pass in one process is sound where it stands: the program had no expectation to read.
    exits = "import os\ndef f(x):\n  if x == 2: os._exit(0)\n  return x"
    assert score(exits, tests, "function", scoring="fraction", isolation="shared").reward == 0.75


VALUES = {
    "list_of_tuples": ("def f(n): return [(i, str(i)) for i in range(n)]", [2], [[0, "0"], [1, "1"]]),
    "none": ("def f(): return None", [], None),
    "bool_is_not_int": ("def f(): return True", [], True),
    "int_subclass": ("import enum\nclass E(enum.IntEnum): A = 3\ndef f(): return E.A", [], 3),
    "counter": ("import collections\ndef f(s): return collections.Counter(s)", ["aab"], {"a": 2, "b": 1}),
    "defaultdict": ("import collections\ndef f():\n  d = collections.defaultdict(list)\n  d['x'].append(1)\n  return d", [], {"x": [1]}),
    "namedtuple": ("import collections\nP = collections.namedtuple('P', 'x y')\ndef f(): return P(1, 2)", [], [1, 2]),
    "big": ("def f(n): return 10 ** n + 1", [5000], 10**5000 + 1),
    "float_is_int": ("def f(): return 4 / 2", [], 2),
    "unicode": ("def f(s): return s[::-1]", ["añ😀"], "😀ña"),
    "nested": ("def f(d): return {'out': [d, {'k': None}]}", [{"a": [1.5]}], {"out": [{"a": [1.5]}, {"k": None}]}),
    "solution_class": ("class Solution:\n  def f(self, a, b): return a + b", [1, 2], 3),
    "tuple_argument": ("def f(t): return isinstance(t, tuple) and sum(t)", [{"$tuple": [1, 2]}], 3),
    "set_argument": ("def f(t): return isinstance(t, set) and len(t)", [{"$set": [1, 1, 2]}], 2),
    "bytes_argument": ("def f(b): return b == b'hi' and b[::-1]", [{"$bytes": "aGk="}], {"$bytes": "aWg="}),
    "set_result": ("def f(xs): return set(xs)", [[1, 2, 2]], {"$set": [2, 1]}),
    "tree": ("def f(t):\n  if t: t.left, t.right = f(t.right), f(t.left)\n  return t", [{"$tree": [4, 2, 7, 1, None, 6]}], {"$tree": [4, 7, 2, None, 6, None, 1]}),
    "tree_annotated": ("from typing import Optional\nclass Solution:\n  def f(self, root: Optional[TreeNode]) -> int: return 0 if not root else 1 + max(self.f(root.left), self.f(root.right))", [{"$tree": [1, None, 2, 3]}], 3),
    "own_tree": ("class TreeNode:\n  def __init__(self, val=0, left=None, right=None): self.val, self.left, self.right = val, left, right\ndef f(t): return TreeNode(9, t)", [{"$tree": [1]}], {"$tree": [9, 1]}),
    "linked_list": ("def f(h):\n  p = None\n  while h: h.next, p, h = p, h, h.next\n  return p", [{"$list": [1, 2, 3]}], {"$list": [3, 2, 1]}),
    "empty_list": ("def f(h): return h", [{"$list": []}], {"$list": []}),
    "slots_node": ("class ListNode:\n  __slots__ = ('val', 'next')\n  def __init__(self, val=0, next=None): self.val, self.next = val, next\ndef f(h): return ListNode(0, h)", [{"$list": [1]}], {"$list": [0, 1]}),
    "callback_returns": ("def f(g): return [g(1), g(2)]", [{"$callback": {"returns": 7}}], [7, 7]),
    "callback_table": ("def f(g): return g(1) + g(2)", [{"$callback": {"table": [[[1], 10], [[2], 20]]}}], 30),
    "plain_data_with_dollar": ("def f(d): return d", [{"$json": {"$tree": [1]}}], {"$json": {"$tree": [1]}}),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_value(score: Score, name: str) -> None:
    code, args, expected = VALUES[name]
    assert score(code, [call(args, expected)], "function").reward == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(): return 1", True),
        ("def f(): return True", 1),
        ("def f(): return 2**53", 2**53 + 1),
        ("def f(): return float(2**53)", 2**53 + 1),
        ("def f(): return float('nan')", None),
        ("def f(): return {1: 2}", {"1": 2}),
        ("def f(): return '1'", 1),
        ("def f(): return {1, 2}", [1, 2]),
        ("def f(): return [1]", [1, 1]),
        ("def f(): return object()", None),
        ("def f(): return (x for x in [1])", [1]),
        ("class L(list):\n  def __iter__(self): return iter([1])\ndef f(): return L()", [1]),
        ("class D(dict):\n  def items(self): return [('a', 1)]\ndef f(): return D()", {"a": 1}),
        ("class S(str):\n  def __str__(self): return 'b'\ndef f(): return S('a')", "b"),
        ("class I(int):\n  def __add__(self, o): return 5\n  def __index__(self): return 5\ndef f(): return I(1)", 5),
        ("class F(float):\n  def __pos__(self): return 5.0\ndef f(): return F(1)", 5.0),
    ],
)
def test_unequal_value(score: Score, code: str, expected: Any) -> None:
    assert score(code, [call([], expected)], "function").reward == 0


def test_changed_arguments_are_checked(score: Score) -> None:
    test = call([[3, 1], 5], None, check_args=[[1, 3], 5])
    assert score("def f(xs, n): xs.sort()", [test], "function").reward == 1
    assert score("def f(xs, n): sorted(xs)", [test], "function").reward == 0


def test_calls_of_a_callback_are_checked(score: Score) -> None:
    test = call([{"$callback": {"returns": 0}}, 2], None, check_args=[[[0], [1]], 2])
    assert score("def f(g, n):\n  for i in range(n): g(i)", [test], "function").reward == 1
    assert score("def f(g, n): g(0)", [test], "function").reward == 0


def test_keyword_arguments(score: Score) -> None:
    assert score("def f(a, *, b): return a - b", [call([5], 3, kwargs={"b": 2})], "function").reward == 1


@pytest.mark.parametrize("entry", ["__builtins__", "__name__", "print", "missing"])
def test_only_what_the_program_defines_is_called(score: Score, entry: str) -> None:
    test = {"entry_point": entry, "args": ["x"], "expected": None}
    assert score("def f(x): return None", [test], "function").reward == 0


@pytest.mark.parametrize("entry", ["a.b", "f()", "", "1", "lambda: 0"])
def test_an_entry_point_is_an_identifier(score: Score, entry: str) -> None:
    with pytest.raises(InvalidReference):
        score("def f(): return 1", [{"entry_point": entry, "args": [], "expected": 1}], "function")


FORGERIES = {
    "two_answers": "import os\ndef f(x):\n  os.write(3, b'[0,{\"v\":2}]\\n')\n  return 0",
    "junk": "import os\ndef f(x):\n  os.write(3, b'{}\\n')\n  os._exit(0)",
    "wrong_index": "import os\ndef f(x):\n  os.write(3, b'[1,{\"v\":2}]\\n')\n  os._exit(0)",
    "nan": "import os\ndef f(x):\n  os.write(3, b'[0,{\"v\":NaN}]\\n')\n  os._exit(0)",
    "long_integer": "import os\ndef f(x):\n  os.write(3, b'[0,{\"v\":' + b'9' * 10**6 + b'}]\\n')\n  os._exit(0)",
    "deep": "import os\ndef f(x):\n  os.write(3, b'[0,{\"v\":' + b'[' * 10**5 + b']' * 10**5 + b'}]\\n')\n  os._exit(0)",
    "unhashable_key": 'import os\ndef f(x):\n  os.write(3, b\'[0,{"v":{"d":[[[1],2]]}}]\\n\')\n  os._exit(0)',
    "unknown_tag": 'import os\ndef f(x):\n  os.write(3, b\'[0,{"v":{"h":[1,"fn",""]}}]\\n\')\n  os._exit(0)',
    "right_value_then_crash": "import os\ndef f(x):\n  os.write(3, b'[0,{\"v\":2}]\\n')\n  os.abort()",
    "right_value_then_hang": "import os, time\ndef f(x):\n  os.write(3, b'[0,{\"v\":2}]\\n')\n  time.sleep(99)",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_answer_is_worth_nothing(score: Score, name: str) -> None:
    assert score(FORGERIES[name], [call([1], 2)], "function", limits={"wall_s": 2}).reward == 0


LANGUAGES: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "cases" / "languages.toml").read_text())
"""A program for each language that doubles a number."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_language(score: Score, language: str) -> None:
    if language not in found_languages():
        pytest.skip(f"no {language} on this host")
    for name, source in LANGUAGES[language].items():
        assert score(source, FOUR, language=language, limits={"wall_s": 20}).reward == 1, name


@needs_cpp
def test_what_does_not_compile_is_a_compile_error(score: Score) -> None:
    for code in ("int main({}", '#include "/etc/passwd"\nint main(){}', "char a[1 << 30] = {1}; int main(){}"):
        verdict = score(code, FOUR, language="cpp")
        assert (verdict.reward, verdict.reason) == (0, "compile_error")


@needs_cpp
def test_deep_recursion_is_honest_in_compiled_code(score: Score) -> None:
    code = '#include <cstdio>\nint d(int n){ volatile char pad[64]; pad[0] = n; return n ? d(n - 1) + (pad[0] != pad[0]) + 1 : 0; }\nint main(){ printf("%d", d(400000)); }'
    assert score(code, io(("", "400000")), language="cpp").reward == 1


def test_a_language_that_the_host_lacks_is_no_verdict(score: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = next((name for name in LANGUAGES if name not in found_languages()), None)
    if lacking is None:
        pytest.skip("this host has every language")
    with pytest.raises(UnsupportedLanguage):
        score("x", FOUR, language=lacking)


def test_an_environment_that_the_host_lacks_is_no_verdict(score: Score) -> None:
    with pytest.raises(SandboxUnavailable):
        score(DOUBLE, FOUR, env="nowhere")


@pytest.mark.parametrize(
    "fields",
    [
        {"language": "klingon"},
        {"language": "cpp", "mode": "function", "tests": [call([], 1)]},
        {"mode": "function"},
        {"compare": "json"},
        {"tests": [{"stdin": ""}]},
        {"limits": {"wall_s": 1e6}},
        {"limits": {"memory_mb": 10**6}},
        {"checker": {"language": "python", "source": "x"}, "mode": "function", "tests": [call([], 1)]},
        {"checker": {"language": "cpp", "source": "x", "protocol": "python"}},
        {"mode": "function", "tests": [call([{"$tuple": 5}], 1)]},
        {"mode": "function", "tests": [call([{"$bytes": "***"}], 1)]},
    ],
)
def test_refused(score: Score, fields: dict[str, Any]) -> None:
    row = {"tests": FOUR, **fields}
    with pytest.raises(InvalidReference):
        score(DOUBLE, row.pop("tests"), row.pop("mode", "stdio"), **row)


@pytest.mark.parametrize(
    "fields",
    [{"tests": []}, {"compare": "close"}, {"compare": "float:x"}, {"limits": {"wall_s": 0}}, {"limits": {"cores": 1}},
     {"trust": "none"}, {"unknown": 1}, {"mode": "exec"}, {"tests": [{"stdin": "", "expected_stdout": 5}]}],
)  # fmt: skip
def test_ill_formed(fields: dict[str, Any]) -> None:
    row = {"language": "python", "mode": "stdio", "tests": FOUR, **fields}
    with pytest.raises(ValidationError):
        CodeReference.model_validate(row)


def test_options_tighten_the_limits_and_respect_the_ceiling(verifier: CodeVerifier) -> None:
    reference = CodeReference.model_validate({"language": "python", "mode": "stdio", "tests": io(("", "1"))})
    spec = verifier.prepare(reference)
    slow = "```python\nimport time\ntime.sleep(1.5)\nprint(1)\n```"
    assert verifier.verify(spec, Candidate.of(slow)).reward == 1
    assert verifier.verify(spec, Candidate.of(slow, options={"timeout_s": 0.5})).reason == "timeout"
    with pytest.raises(InvalidItem):
        verifier.verify(spec, Candidate.of(slow, options={"timeout_s": 1e9}))


CHECKER = """
#include <fstream>
#include <string>
int main(int argc, char** argv) {
  std::ifstream in(argv[1]), out(argv[2]), ans(argv[3]);
  long n, a, b, extra; in >> n;
  if (!(out >> a >> b)) return 2;
  if (a == 666) __builtin_trap();
  if (out >> extra) return 1;
  return a + b == n ? 0 : 1;
}
"""


@needs_cpp
@pytest.mark.parametrize(
    ("code", "reward", "reason"),
    [
        ("print(3, int(input()) - 3)", 1, "equal"),
        ("print(3, 3)", 0, "wrong_output"),
        ("print('x')", 0, "wrong_output"),
        ("print(666, 1)", 0, "wrong_output"),
        ("print(3, int(input()) - 3)\nraise SystemExit(1)", 0, "runtime_error"),
    ],
)
def test_a_testlib_checker_decides(score: Score, code: str, reward: int, reason: str) -> None:
    tests = [{"stdin": "10\n", "expected_stdout": "5 5\n"}]
    verdict = score(code, tests, checker={"language": "cpp", "source": CHECKER})
    assert (verdict.reward, verdict.reason) == (reward, reason)
    assert ("judge_crash" in verdict.flags) == ("666" in code)


def test_a_python_checker_decides_without_expectation(score: Score) -> None:
    source = "def check(stdin, stdout, expected):\n    return sorted(stdout.split()) == sorted(stdin.split())"
    checker = {"language": "python", "source": source, "protocol": "python"}
    assert score("print(*input().split()[::-1])", [{"stdin": "a b c"}], checker=checker).reward == 1
    assert score("print('a b')", [{"stdin": "a b c"}], checker=checker).reward == 0


def test_a_checker_that_fails_on_the_reference_answer_refuses_the_row(score: Score) -> None:
    checker = {"language": "python", "source": "def check(*a): raise ValueError", "protocol": "python"}
    with pytest.raises(InvalidReference):
        score("print(1)", io(("", "1")), checker=checker)


INTERACTOR = """
def interact(stdin, read, write):
    secret, tries = int(stdin), 0
    while tries < 12:
        line = read()
        if line is None or not line.lstrip('-').isdigit(): return False
        tries += 1
        if int(line) == secret:
            write('right\\n')
            return True
        write('higher\\n' if int(line) < secret else 'lower\\n')
    return False
"""
BISECT = "lo, hi = 0, 1000\nwhile True:\n  m = (lo + hi) // 2\n  print(m, flush=True)\n  a = input()\n  if a == 'right': break\n  if a == 'higher': lo = m + 1\n  else: hi = m - 1"


@pytest.mark.parametrize(
    ("code", "reward"),
    [
        (BISECT, 1),
        ("for n in range(1000):\n  print(n, flush=True)\n  if input() == 'right': break", 0),
        ("print('garbage')", 0),
        ("pass", 0),
        ("input()", 0),
        (BISECT + "\nraise SystemExit(3)", 0),
    ],
)
def test_an_interactor_talks_and_decides(score: Score, code: str, reward: int) -> None:
    interactor = {"language": "python", "source": INTERACTOR, "protocol": "python"}
    assert score(code, [{"stdin": "777"}], interactor=interactor, limits={"wall_s": 3}).reward == reward


def test_the_locale_of_the_environment_can_be_set(score: Score) -> None:
    code = "import locale\nassert locale.setlocale(locale.LC_ALL, '') == 'C.UTF-8'\n" + DOUBLE
    assert score(code, FOUR).reward == 1


def test_asking_for_an_unlimited_stack_is_harmless(score: Score) -> None:
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, -1))\n" + DOUBLE
    )
    assert score(code, FOUR).reward == 1


@pytest.mark.parametrize("language", ["bash", "javascript", "c"])
def test_python3_can_be_started_from_other_languages(score: Score, language: str) -> None:
    if language not in found_languages():
        pytest.skip(f"no {language} on this host")
    source = {
        "bash": "python3 -c 'print(int(input()) * 2)'",
        "javascript": "require('child_process').spawnSync('python3', ['-c', 'print(int(input())*2)'], {stdio: 'inherit'})",
        "c": "#include <stdlib.h>\nint main(){ return system(\"python3 -c 'print(int(input())*2)'\") != 0; }",
    }[language]
    assert score(source, FOUR, language=language, limits={"wall_s": 20}).reward == 1


@pytest.mark.parametrize(
    "source",
    ["x = 1", "check = 5", "def check(a, b, c): return 1 if b == c else 0", "def check(a, b, c): return None", "1 / 0"],
)
def test_a_checker_of_no_use_refuses_the_row(score: Score, source: str) -> None:
    checker = {"language": "python", "source": source, "protocol": "python"}
    with pytest.raises(InvalidReference):
        score("print(5)", io(("", "5")), checker=checker)


def test_an_interactor_without_its_function_refuses_the_row(score: Score) -> None:
    interactor = {"language": "python", "source": "def check(a): return True", "protocol": "python"}
    with pytest.raises(InvalidReference):
        score("print(5)", [{"stdin": ""}], interactor=interactor)
