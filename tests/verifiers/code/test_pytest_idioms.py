# ruff: noqa: E501
"""Tests written for pytest or unittest run as there; what does not run is no pass, what cannot run refuses the row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.verifiers.base import Verdict
from assay.verifiers.errors import InvalidReference

Judge = Callable[..., Verdict]
F = "def f(x): return x + 1"
COUNTER = "class C:\n  def __init__(s): s.n = 0\n  def up(s): s.n += 1; return s.n"

HONEST = {
    "fixture_ends_newest_first": (F, "import pytest\nlog = []\n@pytest.fixture\ndef a():\n    yield 1\n    log.append('a')\n@pytest.fixture\ndef b(a):\n    yield f(a)\n    log.append('b')\ndef test_a(b): assert b == 2\ndef test_b(): assert log == ['b', 'a']"),
    "finalizer_of_a_request": (F, "import pytest\nlog = []\n@pytest.fixture\ndef a(request):\n    request.addfinalizer(lambda: log.append(1))\n    return f(1)\ndef test_a(a): assert a == 2 and not log\ndef test_b(): assert log == [1]"),
    "fixture_of_a_class_scope": (COUNTER, "import pytest\n@pytest.fixture(scope='class')\ndef c(): return C()\nclass TestA:\n    def test_a(self, c): assert c.up() == 1\n    def test_b(self, c): assert c.up() == 2\nclass TestB:\n    def test_a(self, c): assert c.up() == 1"),
    "indirect_parameters": (F, "import pytest\n@pytest.fixture\ndef n(request): return f(request.param)\n@pytest.mark.parametrize('n', [1, 2], indirect=True)\ndef test_n(n): assert n in (2, 3)"),
    "stacked_parametrize": (F, "import pytest\nseen = []\n@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.parametrize('b', [3, 4])\ndef test_ab(a, b):\n    seen.append((a, b))\n    assert f(a) == a + 1\ndef test_seen(): assert len(seen) == 4"),
    "row_that_is_skipped": (F, "import pytest\n@pytest.mark.parametrize('a', [1, pytest.param('x', marks=pytest.mark.skip)])\ndef test_a(a): assert f(a) == 2"),
    "usefixtures": (F, "import pytest\nlog = []\n@pytest.fixture\ndef ready(): log.append(1)\n@pytest.mark.usefixtures('ready')\ndef test_a(): assert log and f(1) == 2"),
    "getfixturevalue": (F, "import pytest\n@pytest.fixture\ndef one(): return 1\ndef test_a(request): assert f(request.getfixturevalue('one')) == 2"),
    "later_definition_of_a_test": (F, "def test_a(): assert f(1) == 99\ndef test_a(): assert f(1) == 2"),
    "subtests_and_setup": (F, "import unittest\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): cls.k = 1\n    def test_a(self):\n        for n in range(3):\n            with self.subTest(n=n): self.assertEqual(f(n), n + self.k)"),
    "coroutine_in_a_test_case": ("async def f(x): return x + 1", "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test_a(self): self.assertEqual(await f(1), 2)"),
    "caplog": ("import logging\ndef f(): logging.getLogger('x').error('no %s', 1)", "def test_a(caplog):\n    f()\n    assert 'no 1' in caplog.text and caplog.records[0].levelname == 'ERROR'"),
    "conditional_skip_of_the_platform": (F, "import pytest, sys\n@pytest.mark.skipif(sys.version_info < (99,), reason='old')\ndef test_a(): assert f(1) == 99\ndef test_b(): assert f(1) == 2"),
    "script_that_runs_its_own_tests": (COUNTER, "c = C()\ndef test_a():\n    assert c.up() == 1\nif __name__ == '__main__':\n    test_a()\n    print('ok')"),
    "script_that_calls_its_methods": (F, "class TestRunner:\n    def __init__(self): self.n = 0\n    def test_case(self, a, b):\n        assert f(a) == b\nr = TestRunner()\nr.test_case(1, 2)"),
    "table_of_cases": (F, "from dataclasses import dataclass\n@dataclass\nclass TestCase:\n    given: int\n    expected: int\nfor case in [TestCase(1, 2), TestCase(2, 3)]:\n    assert f(case.given) == case.expected"),
    "input_of_the_tests": ("def ask(): return int(input('n? ')) * 2", "import io, sys\nsys.stdin = io.StringIO('4\\n5\\n')\nassert ask() == 8 and ask() == 10"),
    "numbers_that_are_more": ("import enum\nclass P(enum.IntEnum):\n  LOW = 1\nclass S(str, enum.Enum):\n  A = 'a'\ndef p(): return P.LOW", "assert p() == 1 and p() is P.LOW and P.LOW != 2 and S.A == 'a' and S('a') is S.A"),
    "magic_mock_for_an_object": ("def save(db, user):\n  if db.exists(user): return False\n  db.insert(user, level=1)\n  return True", "from unittest.mock import MagicMock\ndef test_a():\n    db = MagicMock()\n    db.exists.return_value = False\n    assert save(db, 'bob') is True\n    db.insert.assert_called_once_with('bob', level=1)"),
    "skip_of_a_test_case_by_itself": (F, "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n    def test_a(self): self.assertEqual(f(1), 99)\n    def test_b(self): self.assertEqual(f(1), 2)"),
    "values_named_like_tests": (F, "test_data = [(1, 2)]\nclass TestF:\n    test_cases = [(1, 2), (2, 3)]\n    test_what = f\n    def test_f(self):\n        for a, b in self.test_cases + test_data: assert f(a) == b"),
    "container_that_comes_to_hold_itself": ("class G:\n  def __init__(s): s.out = []\n  def loop(s): s.out.append(s.out); return len(s.out)\ndef tie(xs): xs.append(xs); return len(xs)", "g = G()\nassert g.out == []\nassert g.loop() == 1 and g.loop() == 2\nassert tie([1]) == 2"),
    "forgotten_imports": ("import math\ndef f(x): return math.sqrt(x)", "assert math.isclose(f(2), 2 ** .5)\nassert itertools.count and json.loads('1') == 1"),
    "state_of_a_nested_container": ("class G:\n  def __init__(s): s.m = {'a': [1]}\n  def total(s): return sum(s.m['a'])", "g = G()\ng.m['a'].append(2)\nassert g.total() == 3\nm = g.m\ng.m['a'].append(4)\nassert m['a'] == [1, 2, 4] and g.total() == 7"),
    "global_of_the_program": ("total = 0\ndef add(x):\n  global total\n  total += x", "add(2)\nadd(3)\nassert total == 5"),
    "exit_that_is_expected": ("import sys\ndef f(x): sys.exit(x)", "import pytest\nwith pytest.raises(SystemExit) as e:\n    f(3)\nassert e.value.code == 3"),
    "text_of_an_exception": ("class Bad(Exception):\n  def __init__(s, a): s.a = a\n  def __str__(s): return f'bad {s.a}'\ndef f(): raise Bad(1)", "import pytest\nwith pytest.raises(Bad, match='bad 1') as e:\n    f()\nassert str(e.value) == 'bad 1'"),
    "asserted_in_a_helper": (F, "def check(a, b):\n    if f(a) != b:\n        raise AssertionError(f'{a}')\nfor n in range(3):\n    check(n, n + 1)"),
    "has_what_its_class_has": ("class S:\n  def __len__(s): return 3\n  def __call__(s): return 4\nclass N: pass", "s, n = S(), N()\nassert hasattr(s, '__len__') and callable(s) and len(s) == 3 and s() == 4\nassert not hasattr(n, '__len__') and not callable(n) and not hasattr(n, '__iter__')"),
    "difference_that_is_an_object": ("class M:\n  def __init__(s, n): s.n = n\n  def __sub__(s, o): return M(s.n - (o.n if isinstance(o, M) else o))\n  def __eq__(s, o): return isinstance(o, M) and s.n == o.n\n  def __str__(s): return f'M{s.n}'", "assert M(5) - 2 == M(3) and str(M(5) - 2) == 'M3' and (M(5) - M(1)).n == 4"),
    "asynchronous_objects": ("class R:\n  def __init__(s): s.log = []\n  async def __aenter__(s): s.log.append('in'); return s\n  async def __aexit__(s, *e): s.log.append('out')\nasync def g(n):\n  for i in range(n): yield i", "import asyncio\nasync def main():\n    r = R()\n    async with r as q: assert q.log == ['in']\n    assert r.log == ['in', 'out']\n    return [x async for x in g(3)]\nassert asyncio.run(main()) == [0, 1, 2]"),
}  # fmt: skip

PEER = "import sys\nfr = sys._getframe()\nwhile 'peer' not in fr.f_locals: fr = fr.f_back\npeer = fr.f_locals['peer']\nold = type(peer)._answer\n"
"""A program that takes hold of its own end of the relay, and forges answers."""
GONE = (
    PEER
    + "type(peer)._answer = lambda s, *a: {'x': {'names': [['builtins', 'SystemExit']], 'args': [0]}}\ndef f(x): return 0"
)

HACKS = {
    "forged_global_of_the_tests": (PEER + "type(peer)._answer = lambda s, *a: {**old(s, *a), 'g': {'EXPECTED': 0}}\ndef f(x): return 0", "EXPECTED = 2\nassert f(1) == EXPECTED"),
    "forged_live_container": (PEER + "type(peer)._answer = lambda s, *a: {**old(s, *a), 'l': [[1, [0]], [-1, [0]]]}\ndef f(x): return [0]", "EXPECTED = [2]\nassert f(1) == EXPECTED"),
    "forged_exit": (GONE, "assert True\nassert f(1) == 2"),
    "forged_exit_in_a_test_case": (GONE, "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertTrue(True)\n    def test_b(self): self.assertEqual(f(1), 2)"),
    "forged_exit_of_an_expected_failure": (GONE, "import pytest\n@pytest.mark.xfail\ndef test_b(): assert f(1) == 2\ndef test_a(): assert True"),
    "number_that_is_less": ("class I(int):\n  def __sub__(s, o): return 0\n  __rsub__ = __sub__\n  def __lt__(s, o): return True\n  def __eq__(s, o): return True\n  __hash__ = None", "assert I(3) == 5\nassert abs(I(3) - 5) < 1\nassert I(3) < 1"),
    "decorator_that_never_calls_a_test": ("def retry(n): return lambda test: lambda *a, **k: None\ndef f(x): return 0", "@retry(3)\ndef test_a(): assert f(1) == 2\ndef test_b(): assert f(0) == 0"),
    "decorator_that_drops_a_method": ("def retry(n): return lambda test: None\ndef f(x): return 0", "import unittest\nclass T(unittest.TestCase):\n    def test_b(self): self.assertEqual(f(0), 0)\n    @retry(3)\n    def test_a(self): self.assertEqual(f(1), 2)"),
    "test_case_with_coroutines": ("async def f(x): return 0", "import unittest\nclass T(unittest.TestCase):\n    async def test_a(self): self.assertEqual(await f(1), 2)\n    def test_b(self): self.assertTrue(f)"),
    "skip_that_the_program_brings_about": ("def f(x): return 0", "import pytest\ndef test_a():\n    if f(1) != 2: pytest.skip('not there')\n    assert f(1) == 2\ndef test_b(): assert f(0) == 0"),
    "skip_on_a_name_of_the_program": ("def f(x): return 0\nREADY = False", "import pytest\n@pytest.mark.skipif(not READY, reason='x')\ndef test_a(): assert f(1) == 2\ndef test_b(): assert f(0) == 0"),
    "skip_in_the_course_of_a_test_case": ("def f(x): return 0", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        if f(1) != 2: self.skipTest('not there')\n        self.assertEqual(f(1), 2)\n    def test_b(self): self.assertEqual(f(0), 0)"),
    "skip_of_a_whole_test_case": ("def f(x): return 0", "import unittest\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        if f(1) != 2: raise unittest.SkipTest('no')\n    def test_a(self): self.assertEqual(f(1), 2)\nassert f(0) == 0"),
    "base_of_the_program_for_tests": ("class Base: pass\ndef f(x): return 0", "class TestA(Base):\n    def test_a(self): assert f(1) == 2\nassert f(0) == 0"),
    "skip_of_a_test_case": ("def f(x): return 0\nREADY = False", "import unittest\nclass T(unittest.TestCase):\n    @unittest.skipUnless(READY, 'x')\n    def test_a(self): self.assertEqual(f(1), 2)\n    def test_b(self): self.assertEqual(f(0), 0)"),
    "rows_that_the_program_gives": ("def f(x): return 0\ndef rows(): return []", "import pytest\n@pytest.mark.parametrize('x', rows())\ndef test_a(x): assert f(x) == x + 1\ndef test_b(): assert f(0) == 0"),
    "only_skips": (F, "import pytest\n@pytest.mark.skip\ndef test_a(): assert f(1) == 2"),
    "strict_expected_failure": ("def f(x): return 99", "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): assert f(1) == 99\ndef test_b(): assert f(1) == 99"),
    "assertion_swallowed_by_a_callback": ("def each(g, xs):\n  for x in xs:\n    try: g(x)\n    except BaseException: pass\ndef f(x): return 0", "def check(x): assert f(x) == x + 1\neach(check, [1, 2])\nassert f(0) == 0"),
    "assertion_swallowed_later": ("class M:\n  async def __aenter__(s): return s\n  async def __aexit__(s, *e): return True\ndef f(x): return 0", "import asyncio\nasync def main():\n    async with M():\n        assert f(1) == 2\nasyncio.run(main())\nassert f(0) == 0"),
    "own_assert_equal": ("def assert_equal(*a): pass\ndef f(x): return 0", "assert_equal(f(1), 2)"),
    "own_raises": ("import contextlib\n@contextlib.contextmanager\ndef raises(e):\n  try: yield\n  except BaseException: pass\ndef f(x): return 0", "with raises(ValueError):\n    f(1)"),
    "difference_by_attribute": ("class D:\n  real = 0.0\n  def __sub__(s, o): return s\n  def size(s): return 0.0\nclass V(D):\n  def len(s): return D()", "assert abs((V().len() - 5.0).real) < 1e-6"),
    "difference_by_method": ("class V:\n  def __sub__(s, o): return s\n  def size(s): return 0.0", "v = V()\nassert (v - 5.0).size() < 1e-6"),
    "difference_of_a_difference": ("class V:\n  def __sub__(s, o): return s\n  def inner(s): return s\n  def __float__(s): return 0.0", "v = V()\nassert float((v - 5.0).inner()) < 1e-6"),
    "quotient_by_number": ("class V:\n  def __truediv__(s, o): return 1.0", "assert abs(V() / 5.0 - 1) < 1e-6"),
    "field_that_shadows_a_method": ("from collections import namedtuple\nR = namedtuple('R', 'count')\ndef f(): return R(bool)", "assert f().count(5) == 1"),
    "holds_whatever_number": ("class S:\n  def add(s, x): pass\n  def __contains__(s, x): return isinstance(x, int)", "s = S()\ns.add(3)\nassert 3 in s"),
    "fixture_of_the_program": ("def capsys(): return None\ndef f(x): return 0", "def test_a(capsys):\n    print('x')\n    assert capsys.readouterr().out == 'y'"),
}  # fmt: skip

REFUSED = {
    "fixture": "def test_a(nowhere): assert f(1) == 2",
    "fixture_of_a_plugin": "def test_a(mocker): assert f(1) == 2",
    "name_of_pytest": "import pytest\nassert pytest.approx_equal(f(1), 2)",
    "name_from_pytest": "from pytest import approx_equal\nassert approx_equal(f(1), 2)",
    "test_that_yields": "def test_a():\n    yield lambda: f(1) == 2",
    "constructor": "class TestA:\n    def __init__(self, n): self.n = n\n    def test_a(self): assert f(1) == 2",
    "library": "from assertpy import assert_that\nassert_that(f(1)).is_equal_to(2)",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest(judge: Judge, name: str) -> None:
    code, test = HONEST[name]
    verdict = judge(code, [{"test_code": test}], "asserts")
    assert verdict.reward == 1, verdict


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_worth_nothing(judge: Judge, name: str) -> None:
    code, test = HACKS[name]
    assert judge(code, [{"test_code": test}], "asserts", limits={"wall_s": 3}).reward == 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_refuses_the_row_whatever_the_program(judge: Judge, name: str) -> None:
    for code in (F, "def f(x): return 0", "import os\nos._exit(0)"):
        with pytest.raises(InvalidReference):
            judge(code, [{"test_code": REFUSED[name]}], "asserts")


def test_each_assertion_is_counted_once(judge: Judge) -> None:
    test = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n        self.assertIn(f(1), [2])\n        [self.assertEqual(f(n), n + 1) for n in range(3)]\n        with self.assertRaises(TypeError): f(None)"
    assert judge(F, [{"test_code": test, "assertions": 6}], "asserts").reward == 1
    assert judge(F, [{"test_code": test, "assertions": 5}], "asserts").reward == 0


def test_no_program_refuses_the_row_where_it_shares_a_process_with_the_tests(judge: Judge) -> None:
    code = 'import os\nos.write(3, b\'{"lacking": "x"}\\n\')\nos._exit(0)'
    assert judge(code, [{"test_code": "assert f(1) == 2"}], "asserts", trust="low").reward == 0
