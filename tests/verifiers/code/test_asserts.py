# ruff: noqa: E501
"""Mode asserts: honest programs pass in two jails, and no program passes by acting on the tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.verifiers.base import Verdict
from assay.verifiers.errors import InvalidReference

Judge = Callable[..., Verdict]

FRAMES = "import sys\nfr = sys._getframe()\nwhile 'peer' not in fr.f_locals: fr = fr.f_back\npeer, G = fr.f_locals['peer'], fr.f_globals\n"
"""A program that takes hold of its own end of the relay: the tests' end must not care."""
LIE = (
    FRAMES
    + "class Lie:\n  def __sub__(s, o): return s\n  __rsub__ = __sub__\n  def __abs__(s): return s\n  def __lt__(s, o): return True\n  __le__ = __gt__ = __ge__ = __lt__\n  def __round__(s, n=None): return 0\n  def __contains__(s, o): return True\npeer.exported[Lie] = 'Lie'\ndef f(*a): return Lie()\n"
)
LIE_CLASS = (
    LIE.partition("class")[1]
    + LIE.partition("class")[2].partition("peer.exported")[0]
    + "class f(Lie):\n  def __init__(s, *a): pass\n  def area(s): return s\n"
)


def offering(more: str, code: str) -> str:
    return f"{FRAMES}old = G['_offers']\nG['_offers'] = lambda peer, names: old(peer, names) + [{more}]\n{code}"


HONEST = {
    "eq_without_isinstance": ("class P:\n  def __init__(s, x): s.x = x\n  def __eq__(s, o): return s.x == o.x", "assert P(1) == P(1)\nassert P(1) != P(2)"),
    "contextmanager": ("from contextlib import contextmanager\nlog = []\n@contextmanager\ndef opened(x):\n  log.append('in')\n  try: yield x + 1\n  except KeyError: log.append('key')\n  finally: log.append('out')\ndef seen(): return log", "with opened(1) as y:\n    assert y == 2\nwith opened(1):\n    raise KeyError('k')\nassert seen() == ['in', 'out', 'in', 'key', 'out']\ntry:\n    with opened(1): raise IndexError(3)\n    assert False\nexcept IndexError as e:\n    assert e.args == (3,)"),
    "metadata": ("def f():\n  'Says.'\n  return 1", "assert f.__name__ == 'f' and f.__doc__ == 'Says.' and f.__qualname__ == 'f'"),
    "wraps": ("import functools\ndef counted(g):\n  @functools.wraps(g)\n  def h(*a):\n    h.calls += 1\n    return g(*a)\n  h.calls = 0\n  return h", "@counted\ndef one():\n    'One.'\n    return 1\nassert one() + one() == 2 and one.calls == 2\nassert one.__name__ == 'one' and one.__doc__ == 'One.'"),
    "cache_info": ("from functools import lru_cache\n@lru_cache(None)\ndef f(n): return n", "assert f(1) == 1 and f(1) == 1 and f.cache_info().hits == 1 and f.__name__ == 'f'"),
    "callback_kept_for_later": ("class Bus:\n  def __init__(s): s.subs = []\n  def on(s, g): s.subs.append(g)\n  def emit(s, x): [g(x) for g in s.subs]", "got = []\nb = Bus()\nb.on(got.append)\nb.on(lambda x: got.append(-x))\nb.emit(3)\nassert got == [3, -3]"),
    "callables_of_the_library": ("def fold(g, xs):\n  r = xs[0]\n  for x in xs[1:]: r = g(r, x)\n  return r\ndef each(g, xs): return [g(x) for x in xs]", "import operator, math, functools\nfrom unittest.mock import Mock\nassert fold(operator.add, [1, 2, 3]) == 6 and each(math.sqrt, [4.0]) == [2.0]\nassert each(operator.itemgetter(1), [(1, 2)]) == [2] and each(functools.partial(pow, 2), [3]) == [8]\nm = Mock(return_value=5)\nassert each(m, [1]) == [5]\nm.assert_called_once_with(1)"),
    "function_returning_functions_as_callback": ("def call(g): return g(2)(3)", "assert call(lambda a: lambda b: a * b) == 6"),
    "library_function_as_answer": ("from math import gcd as f\nimport operator\nadd = operator.add", "assert f(12, 18) == 6 and add(1, 2) == 3"),
    "names_of_the_programs_imports": ("import math, collections, sys\nfrom dataclasses import dataclass\nfrom collections import Counter\ndef f(): return Counter('aa')", "@dataclass\nclass D:\n    n: int\nassert math.sqrt(4) == 2 and isinstance(f(), Counter) and D(1) == D(1) and sys.maxsize > 1"),
    "exit_of_the_tests": ("def f(): return 1", "import sys\nassert f() == 1\nsys.exit(0)"),
    "exception_handed_over": ("class Bad(Exception): pass\ndef retry(g, kinds):\n  try: return g()\n  except kinds: return 'caught'", "def boom(): raise Bad('x')\ndef zero(): return 1 / 0\nassert retry(boom, Bad) == 'caught' and retry(zero, (ZeroDivisionError,)) == 'caught'"),
    "money": ("class M:\n  def __init__(s, n): s.n = n\n  def __mul__(s, k): return M(s.n * k)\n  __rmul__ = __mul__\n  def __sub__(s, o): return M(s.n - o.n)\n  def __abs__(s): return abs(s.n)\n  def __lt__(s, o): return s.n < o.n", "assert abs(2 * M(3) * 2) == 12 and M(1) < M(2) and abs(M(1) - M(4)) == 3 and sorted([M(2), M(1)])[0].n == 1"),
    "plain": ("def f(x): return x + 1", "assert f(1) == 2"),
    "check_function": ("def f(x): return x * 2", "def check(candidate):\n    assert candidate(2) == 4\ncheck(f)"),
    "class": ("class P:\n  def __init__(self, x): self.x = x\n  def add(self, o): return P(self.x + o.x)", "assert P(1).add(P(2)).x == 3"),
    "class_eq": ("from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int\n", "assert P(1) == P(1)\nassert P(1) != P(2)\nassert not (P(1) == 5)"),
    "class_ops": ("class V:\n  def __init__(s, x): s.x = x\n  def __add__(s, o): return V(s.x + o.x)\n  def __eq__(s, o): return isinstance(o, V) and s.x == o.x\n  def __lt__(s, o): return s.x < o.x\n  def __len__(s): return s.x\n  def __getitem__(s, i): return s.x + i\n  def __contains__(s, i): return i == s.x\n  def __str__(s): return f'V{s.x}'", "a = V(1) + V(2)\nassert a == V(3) and V(1) < V(2) and len(a) == 3 and a[4] == 7 and 3 in a and str(a) == 'V3' and f'{a}' == 'V3'"),
    "unnamed_class": ("class Acc:\n  def __init__(s): s.n = 0\n  def put(s, x): s.n += x; return s\ndef make(): return Acc()", "a = make()\na.put(5).put(2)\nassert a.n == 7"),
    "isinstance": ("class A: pass\nclass B(A): pass", "assert isinstance(B(), A) and issubclass(B, A) and not isinstance(A(), B)"),
    "class_attributes": ("class A:\n  n = 0\n  @classmethod\n  def up(c): c.n += 1; return c.n\n  @staticmethod\n  def sq(x): return x * x\n  @property\n  def p(self): return 9", "assert A.up() == 1 and A.n == 1 and A.sq(3) == 9 and A().p == 9"),
    "enum": ("import enum\nclass C(enum.Enum):\n  RED = 1\n  BLUE = 2\ndef mix(a): return C.BLUE if a is C.RED else C.RED", "assert mix(C.RED) == C.BLUE and mix(C.RED) is C.BLUE and C.RED.value == 1 and C(2) is C.BLUE and C['RED'].name == 'RED' and len(list(C)) == 2"),
    "namedtuple": ("from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(1, 2)", "assert f() == (1, 2) and f().y == 2 and f() == P(1, 2)"),
    "mutation": ("def f(xs, d): xs.sort(); d['k'] = len(xs)", "a, d = [3, 1, 2], {}\nf(a, d)\nassert a == [1, 2, 3] and d == {'k': 3}"),
    "identity": ("def same(x): return x\ndef copy(x): return list(x)", "a = [1]\nassert same(a) is a\nassert copy(a) is not a and copy(a) == a"),
    "generator": ("def g(n):\n  for i in range(n): yield i * i", "assert list(g(4)) == [0, 1, 4, 9]\nit = g(2)\nassert next(it) == 0 and next(it) == 1\ntry:\n    next(it)\n    assert False\nexcept StopIteration:\n    pass"),
    "callback": ("def apply(f, xs): return [f(x) for x in xs]", "assert apply(lambda x: x + 1, [1, 2]) == [2, 3]\nassert apply(str, [1]) == ['1'] and apply(len, ['ab']) == [2]\ndef fib(n): return n\nassert apply(fib, [7]) == [7]"),
    "closure": ("def adder(n):\n  return lambda x: x + n", "add2 = adder(2)\nassert add2(3) == 5 and callable(add2)"),
    "decorator": ("import functools\ndef twice(f):\n  @functools.wraps(f)\n  def g(*a): return f(*a) * 2\n  return g", "@twice\ndef one(): return 1\nassert one() == 2"),
    "context_manager": ("class R:\n  def __init__(s): s.log = []\n  def __enter__(s): s.log.append('in'); return s\n  def __exit__(s, *e): s.log.append('out')", "r = R()\nwith r as q:\n    assert q.log == ['in']\nassert r.log == ['in', 'out']"),
    "builtin_exception": ("def f(x):\n  if x < 0: raise ValueError('neg')\n  return x", "import pytest\nwith pytest.raises(ValueError, match='neg'):\n    f(-1)\nassert f(1) == 1"),
    "own_exception": ("class Bad(ValueError):\n  def __init__(s, code): super().__init__(f'code {code}'); s.code = code\ndef f(): raise Bad(7)", "try:\n    f()\n    assert False\nexcept Bad as e:\n    assert e.code == 7 and 'code 7' in str(e) and isinstance(e, ValueError)"),
    "assert_raises": ("def f(): return 1 / 0", "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertRaises(ZeroDivisionError, f)\n        with self.assertRaises(ArithmeticError): f()"),
    "constants": ("LIMIT = 10\nNAMES = {'a': (1, 2)}\nimport math\nfrom collections import Counter", "assert LIMIT == 10 and NAMES['a'] == (1, 2) and math.sqrt(4) == 2 and Counter('aa')['a'] == 2"),
    "std_values": ("import datetime, decimal, fractions, collections\ndef f(): return [decimal.Decimal('1.5'), fractions.Fraction(1, 3), datetime.date(2024, 2, 29), datetime.timedelta(1), range(3), collections.deque([1]), {1, 2}, frozenset([3]), b'x', 1 + 2j, collections.Counter('ab')]", "import datetime, decimal, fractions, collections\nassert f() == [decimal.Decimal('1.5'), fractions.Fraction(1, 3), datetime.date(2024, 2, 29), datetime.timedelta(1), range(3), collections.deque([1]), {1, 2}, frozenset([3]), b'x', 1 + 2j, collections.Counter('ab')]"),
    "types_kept": ("def f(): return (1, [2.5, True], {'a': None, 3: 'x'}, 'é\\ud800')", "r = f()\nassert r == (1, [2.5, True], {'a': None, 3: 'x'}, 'é\\ud800') and type(r) is tuple and r[1][1] is True"),
    "big_numbers": ("def f(n): return 7 ** n", "assert f(9000) == 7 ** 9000\nimport math\nassert math.isclose(f(0), 1.0)"),
    "parametrize": ("def f(x): return x * x", "import pytest\n@pytest.mark.parametrize('x, y', [(1, 1), (2, 4), pytest.param(3, 9)])\ndef test_f(x, y):\n    assert f(x) == y"),
    "fixture": ("def total(xs): return sum(xs)", "import pytest\n@pytest.fixture\ndef xs(): return [1, 2]\ndef test_total(xs):\n    assert total(xs) == 3\nclass TestMore:\n    def test_again(self, xs): assert total(xs + xs) == 6"),
    "approx": ("def f(): return 0.1 + 0.2", "from pytest import approx\nassert f() == approx(0.3)"),
    "state_in_program": ("n = 0\ndef tick():\n  global n\n  n += 1\n  return n", "def test_tick():\n    assert tick() == 1\ntest_tick()"),
    "async": ("import asyncio\nasync def f(x):\n  await asyncio.sleep(0)\n  return x + 1", "import asyncio\nassert asyncio.run(f(1)) == 2"),
    "from_solution": ("def f(x): return x + 1\nclass K:\n  n = 5", "from solution import f, K\ndef test_it():\n    assert f(1) == 2 and K.n == 5"),
    "import_solution": ("def f(x): return x + 1", "import solution\nassert solution.f(1) == 2"),
    "import_star": ("def f(x): return x + 1", "from my_module import *\nassert f(1) == 2"),
    "main_guard": ("def f(): return 1\nif __name__ == '__main__':\n  raise SystemExit(3)", "assert f() == 1"),
    "prints": ("def f():\n  print('noise' * 1000)\n  return 1\nprint('more')", "assert f() == 1"),
    "unittest_main_exit": ("def f(): return 1", "import unittest, sys\nclass T(unittest.TestCase):\n    def setUp(self): self.x = f()\n    def test(self): self.assertEqual(self.x, 1)\nif __name__ == '__main__':\n    sys.exit(unittest.main())"),
    "tree_of_the_program": ("class TreeNode:\n  def __init__(s, v, l=None, r=None): s.v, s.l, s.r = v, l, r\ndef depth(t): return 0 if t is None else 1 + max(depth(t.l), depth(t.r))", "assert depth(TreeNode(1, TreeNode(2, None, TreeNode(3)))) == 3"),
    "tree_not_named": ("class TreeNode:\n  def __init__(s, val, left=None): s.val, s.left = val, left\ndef build(): return TreeNode(1, TreeNode(2))", "t = build()\nassert t.val == 1 and t.left.val == 2 and t.left.left is None"),
    "tree_of_the_tests": ("def flip(t):\n  if t: t.left, t.right = flip(t.right), flip(t.left)\n  return t", "class TreeNode:\n    def __init__(self, val, left=None, right=None): self.val, self.left, self.right = val, left, right\nt = TreeNode(1, TreeNode(2), TreeNode(3))\nr = flip(t)\nassert r is t and t.left.val == 3 and t.right.val == 2"),
    "captured_output": ("def hi(n):\n  print('hi', n)\n  return n", "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    hi(1); hi(2)\nassert b.getvalue() == 'hi 1\\nhi 2\\n'"),
    "capsys": ("def hi(): print('hi')", "def test_hi(capsys):\n    hi()\n    assert capsys.readouterr().out == 'hi\\n'"),
    "object_of_the_tests": ("def name_of(x): return x.name + x.shout()", "class Dog:\n    name = 'rex'\n    def shout(self): return '!'\nassert name_of(Dog()) == 'rex!'"),
    "list_subclass_by_content": ("class L(list): pass\ndef f(): return L([1, 2])", "assert f() == [1, 2] and len(f()) == 2"),
    "regex_match": ("import re\ndef f(s): return re.match(r'(\\d+)', s)", "assert f('12a') and f('12a').group(1) == '12'\nassert not f('x')"),
    "keyword_arguments": ("def f(a, *rest, k=1, **more): return a + sum(rest) + k + sum(more.values())", "assert f(1, 2, 3, k=4, z=5) == 15"),
    "sorted_by_key": ("class P:\n  def __init__(s, n): s.n = n\ndef people(): return [P(3), P(1)]", "assert [p.n for p in sorted(people(), key=lambda p: p.n)] == [1, 3]"),
    "hash_and_sets": ("class K:\n  def __init__(s, n): s.n = n\n  def __hash__(s): return hash(s.n)\n  def __eq__(s, o): return isinstance(o, K) and s.n == o.n", "assert len({K(1), K(1), K(2)}) == 2 and {K(1): 'a'}[K(1)] == 'a'"),
}  # fmt: skip

HACKS = {
    "forged_class_in_tolerance": (LIE, "assert abs(f(2.0) - 1.41421356) < 1e-6"),
    "forged_class_almost_equal": (LIE, "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertAlmostEqual(f(2.0), 1.41421356)"),
    "forged_class_in_order": (LIE, "assert f(3) > 5"),
    "forged_class_contains": (LIE, "assert 5 in f(3)"),
    "class_for_a_function_in_tolerance": (LIE_CLASS, "assert abs(f(2.0) - 1.41421356) < 1e-6"),
    "class_for_a_function_almost_equal": (LIE_CLASS, "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertAlmostEqual(f(2.0), 1.41421356)"),
    "class_for_a_function_in_order": (LIE_CLASS, "assert f(3) > 5"),
    "class_for_a_function_contains": (LIE_CLASS, "assert 5 in f(3)"),
    "method_in_tolerance": (LIE_CLASS, "c = f(2)\nassert abs(c.area() - 12.566) < 1e-3"),
    "offered_builtins": (offering("{'name': '__builtins__', 'value': peer.encode({'abs': lambda x: 0, 'float': float})}", "def f(x): return 7.0"), "assert abs(f(2.0) - 1.41421356) < 1e-6"),
    "offered_sorted": (offering("{'name': 'sorted', 'value': peer.encode(lambda x: [])}", "def f(x): return []"), "assert sorted(f([3, 1])) == sorted([1, 3])"),
    "offered_module_name": (offering("{'name': '__name__', 'value': 'x'}", "def f(x): return 0"), "import unittest\nclass T(unittest.TestCase):\n    def test_m(self): self.assertEqual(f(2), 6)\nif __name__ == '__main__':\n    unittest.main()"),
    "offered_count": (offering("{'name': '__assay_count__', 'value': peer.encode(print)}", "def f(x): return 0"), "assert f(1) == 2"),
    "offered_unasked_name": (offering("{'name': 'unittest', 'value': peer.encode(print)}", "def f(x): return 0"), "import unittest\nclass T(unittest.TestCase):\n    def test_m(self): self.assertEqual(f(2), 6)"),
    "attrgetter_of_the_tests": (offering("{'name': 'double', 'shared': ['operator', 'attrgetter']}", "def f(ag, g): return ag('__globals__')(g)['SECRET']"), "SECRET = 12345\nassert f(double, lambda x: x) == SECRET"),
    "attrgetter_by_its_own_name": ("from operator import attrgetter\ndef f(ag, g): return ag('__globals__')(g)['SECRET']", "SECRET = 12345\nassert f(attrgetter, lambda x: x) == SECRET"),
    "import_of_the_tests": (offering("{'name': '__builtins__', 'value': peer.encode({'__import__': print})}", "def f(x): return 0"), "import math\nassert f(2) == 4"),
    "shared_exit": ("from sys import exit as get\ndef add(a, b): return a + b", "assert add(1, 2) == 3\nassert get() == 1"),
    "shared_exit_in_functions": ("from sys import exit as get\ndef add(a, b): return a + b", "def test_a():\n    assert add(1, 2) == 3\ndef test_b():\n    assert get() == 1"),
    "shared_exit_by_its_own_name": ("from sys import exit\nimport sys\ndef add(a, b): return a + b", "assert add(1, 2) == 3\nassert sys.exit() == 1"),
    "exit_through_a_callback": ("def f(g): g()", "import sys\ndef stop(): sys.exit(0)\nassert 1\nassert f(stop) == 2"),
    "forged_exit": (offering("{'name': 'get', 'shared': ['sys', 'exit']}", "def add(a, b): return a + b"), "assert add(1, 2) == 3\nassert get() == 1"),
    "forged_stop": (FRAMES + "type(peer)._stopped = lambda s, r, e: {'stop': None}\ndef f(x):\n  if x == 1: return 1\n  raise StopIteration", "for got, want in zip(map(f, [1, 2, 3]), [1, 4, 9]):\n    assert got == want"),
    "forged_stop_swallowed": (FRAMES + "type(peer)._stopped = lambda s, r, e: {'stop': None}\ndef f(x): raise StopIteration", "assert all(map(f, [2, 3]))"),
    "death_for_an_exception": ("import os\ndef f(x):\n  if x < 0: os._exit(0)\n  return x", "import pytest\nassert f(1) == 1\nwith pytest.raises(Exception):\n    f(-1)"),
    "exit_in_load": ("import sys\nsys.exit(0)\ndef f(x): return 0", "assert f(1) == 2"),
    "exit_in_call": ("import os\ndef f(x): os._exit(0)", "assert f(1) == 2"),
    "kill_everything": ("import os, signal\ndef f(x): os.kill(-1, 9)", "assert f(1) == 2"),
    "forged_verdict_frames": ("import os\nfor fd in range(3, 300):\n  try: os.write(fd, b'heard\\n{\"passed\": true, \"count\": 9}\\n')\n  except OSError: pass\ndef f(x): return 0", "assert f(1) == 2"),
    "forged_reply": ("import os\ndef f(x):\n  os.write(4, b'{\"r\": 2}\\n{\"r\": 2}\\n')\n  return 0", "assert f(1) == 2\nassert f(2) == 3"),
    "lying_int": ("class I(int):\n  def __eq__(s, o): return True\n  def __ne__(s, o): return False\n  __hash__ = None\ndef f(x): return I(0)", "assert f(1) == 2"),
    "lying_str": ("class S(str):\n  def __eq__(s, o): return True\n  __hash__ = None\ndef f(x): return S('no')", "assert f(1) == 'yes'"),
    "lying_dict": ("class D(dict):\n  def __getitem__(s, k): return 2\n  def __eq__(s, o): return True\n  __hash__ = None\ndef f(x): return D()", "assert f(1) == {'a': 2}\nassert f(1)['a'] == 2"),
    "lying_object_named_in_tests": ("class P:\n  def __init__(s, *a): pass\n  def __eq__(s, o): return True\n  def __ne__(s, o): return True", "assert P(1) == P(1)"),
    "lying_in_tolerance": ("class S:\n  def __sub__(s, o): return s\n  __rsub__ = __sub__\n  def __abs__(s): return 0.0\n  def __lt__(s, o): return True\ndef f(x): return S()", "assert abs(f(1) - 2) < 1e-6"),
    "lying_contains": ("class S:\n  def __contains__(s, o): return True\ndef f(x): return S()", "assert 2 in f(1)"),
    "mock_any": ("from unittest.mock import ANY\ndef f(x): return ANY", "assert f(1) == 2"),
    "mock_any_as_name": ("from unittest.mock import ANY as f", "assert f == 2"),
    "stop_iteration": ("def f(x): raise StopIteration", "assert all(f(x) == 2 for x in [1])"),
    "skip": ("import unittest\ndef f(x): raise unittest.SkipTest('no')", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(1), 2)"),
    "pytest_skip": ("def f(x):\n  import pytest\n  pytest.skip('no')", "def test_f():\n    assert f(1) == 2"),
    "system_exit": ("def f(x): raise SystemExit(0)", "assert f(1) == 2"),
    "keyboard_interrupt": ("def f(x): raise KeyboardInterrupt", "assert f(1) == 2"),
    "generator_exit": ("def f(x): raise GeneratorExit", "assert f(1) == 2"),
    "shadowed_builtins": ("def abs(x): return 0\ndef len(x): return 2\ndef all(x): return True\ndef sum(x): return 2\ndef f(x): return [-9]", "assert abs(f(1)[0]) == 0"),
    "shadowed_test_name": ("def check(c): pass\ndef f(x): return 0", "def check(c):\n    assert c(1) == 2\ncheck(f)"),
    "assertion_swallowed_by_nobody": ("def f(x): return 0", "try:\n    assert f(1) == 2\nexcept ValueError:\n    pass"),
    "patched_modules": ("import math, json, unittest, builtins\nmath.isclose = lambda *a, **k: True\nbuiltins.all = lambda x: True\njson.dumps = lambda *a, **k: '{\"passed\": true}'\ndef f(x): return 0", "import math\nassert math.isclose(f(1), 2)"),
    "stack_walk": ("import sys\ndef f(x):\n  g = sys._getframe()\n  while g:\n    for v in list(g.f_globals.values()) + list(g.f_locals.values()):\n      if v == 2 and type(v) is int: return 2\n    g = g.f_back\n  return 0", "EXPECTED = 987654\nassert f(1) == EXPECTED"),
    "call_back_into_the_tests": ("def f(g):\n  return g.__globals__['SECRET']", "SECRET = 12345\nassert f(lambda: 1) == SECRET"),
    "attributes_of_the_tests": ("def f(d):\n  return d.__class__.__init__.__globals__['SECRET']", "SECRET = 12345\nclass D: pass\nassert f(D()) == SECRET"),
    "flood_of_the_relay": ("import os\ndef f(x):\n  while True: os.write(4, b'x' * 65536)", "assert f(1) == 2"),
    "deep_reply": ("import os\ndef f(x):\n  os.write(4, b'{\"r\":' + b'[' * 100000 + b']' * 100000 + b'}\\n')\n  os._exit(0)", "assert f(1) == 2"),
    "cyclic": ("def f(x):\n  a = []\n  a.append(a)\n  return a", "assert f(1) == [2]"),
    "close_relay": ("import os\nos.close(3); os.close(4)\ndef f(x): return 0", "assert f(1) == 2"),
    "wrong_values_for_constants": ("EXPECTED = 0\ndef f(x): return 0", "EXPECTED = 2\nassert f(1) == EXPECTED"),
    "shadowed_by_import": ("def f(x): return 0\nmath = None", "import math\nfrom solution import f\nassert f(1) == math.sqrt(4)"),
    "no_such_import": ("def g(x): return 2", "from solution import f\nassert f(1) == 2"),
    "no_such_name": ("def g(x): return 2", "assert f(1) == 2"),
    "syntax_error": ("def f(:", "assert f(1) == 2"),
    "never_true": ("def f(x): return 0", "if f(1) == 2:\n    assert True"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest(judge: Judge, name: str) -> None:
    code, test = HONEST[name]
    verdict = judge(code, [{"test_code": test}], "asserts")
    assert verdict.reward == 1, verdict


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_worth_nothing(judge: Judge, name: str) -> None:
    code, test = HACKS[name]
    limits = {"wall_s": 3}
    assert judge(code, [{"test_code": test}], "asserts", limits=limits).reward == 0


def test_low_trust_is_marked_and_the_rows_alone(judge: Judge) -> None:
    test = "import pickle\nassert pickle.loads(pickle.dumps(f)) is f"
    strict = judge("def f(x): return x", [{"test_code": test}], "asserts")
    low = judge("def f(x): return x", [{"test_code": test}], "asserts", trust="low")
    assert "trust:low" in low.flags and "trust:low" not in strict.flags


def test_a_pass_needs_as_many_assertions_as_the_gold_run(judge: Judge) -> None:
    code, test = "def f(): return [1, 2]", "for x in f():\n    assert x > 0"
    assert judge(code, [{"test_code": test, "assertions": 2}], "asserts").reward == 1
    assert judge("def f(): return [1]", [{"test_code": test, "assertions": 2}], "asserts").reward == 0


def test_tests_that_assert_nothing_do_not_pass(judge: Judge) -> None:
    for test in ("f()", "def test_f():\n    f()", "import unittest\nclass T(unittest.TestCase): pass"):
        assert judge("def f(): return 1", [{"test_code": test}], "asserts").reward == 0


def test_test_code_that_does_not_compile_refuses_the_row(judge: Judge) -> None:
    with pytest.raises(InvalidReference):
        judge("def f(): return 1", [{"test_code": "assert f( == 1"}], "asserts")


def test_a_package_that_the_environment_lacks_refuses_the_row(judge: Judge) -> None:
    with pytest.raises(InvalidReference, match="numpy"):
        judge("def f(): return 1", [{"test_code": "import numpy as np\nassert np.all(f() == 1)"}], "asserts")


def test_a_hang_of_the_program_is_its_time_out(judge: Judge) -> None:
    verdict = judge("def f():\n  while True: pass", [{"test_code": "assert f()"}], "asserts", limits={"wall_s": 1})
    assert (verdict.reward, verdict.reason) == (0, "timeout")


def test_units_are_scored_one_by_one(judge: Judge) -> None:
    tests = [{"test_code": f"assert f({n}) == {n}"} for n in range(4)]
    assert judge("def f(x): return x if x < 3 else 0", tests, "asserts", scoring="fraction").reward == 0.75
