# ruff: noqa: E501
"""numpy and pandas between tests and program, in the bundled environment `sci` (`make test-packages`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.contract.references.code import CodeReference
from assay.sandbox import Settings, Slot, Supervisor, Unavailable, sci
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier

pytestmark = pytest.mark.packages
IMPORTS = "import numpy as np\nimport pandas as pd\n"
HONEST = {
    "frame_in_and_out": ("assert f(pd.DataFrame({'a': [1, 2]}))['a'].tolist() == [2, 3]", "def f(d): return d + 1"),
    "frame_equal": (
        "pd.testing.assert_frame_equal(f(3), pd.DataFrame({'a': [0, 1, 2], 'b': ['x', 'y', 'z'], 'c': [1.5, np.nan, 2.0]}))",
        "def f(n): return pd.DataFrame({'a': range(n), 'b': list('xyz'), 'c': [1.5, np.nan, 2.0]})",
    ),
    "series_with_index_and_name": (
        "s = f(pd.Series([3, 1, 2], index=list('abc'), name='q'))\nassert s.index.tolist() == ['b', 'c', 'a'] and s.name == 'q'",
        "def f(s): return s.sort_values()",
    ),
    "dates": (
        "d = f()\nassert (d['t'].dt.year == 2020).all() and d.index.name == 'k' and d['t'].iloc[0] == pd.Timestamp('2020-01-01')",
        "def f():\n    d = pd.DataFrame({'t': pd.date_range('2020-01-01', periods=3), 'k': [1, 2, 3]})\n    return d.set_index('k')",
    ),
    "an_array_changed_in_place": ("a = np.array([3, 1, 2])\nf(a)\nassert (a == [1, 2, 3]).all()", "def f(a): a.sort()"),
    "array_of_objects": (
        "r = f()\nassert r.dtype == object and r.tolist() == ['a', 1, None]",
        "def f(): return np.array(['a', 1, None], dtype=object)",
    ),
    "array_of_dates": (
        "assert f()[0] == np.datetime64('2020-01-02')",
        "def f(): return np.array(['2020-01-02'], dtype='datetime64[D]')",
    ),
    "several": (
        "d, s = f()\nassert isinstance(d, pd.DataFrame) and isinstance(s, pd.Series) and d.empty",
        "def f(): return pd.DataFrame(), pd.Series([1])",
    ),
    "grouped": (
        "r = f(pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}))\nassert r.loc['a'] == 4 and r['b'] == 2",
        "def f(d): return d.groupby('k')['v'].sum()",
    ),
    "filtered": (
        "r = f(pd.DataFrame({'v': [1, 5, 3]}))\nassert r['v'].tolist() == [5, 3] and list(r.columns) == ['v'] and len(r) == 2",
        "def f(d): return d[d['v'] > 2]",
    ),
    "scipy_and_sympy_inside": (
        "assert f(0) == (0.5, 'x**2')",
        "import scipy.stats, sympy\ndef f(x): return float(scipy.stats.norm.cdf(x)), str(sympy.Symbol('x') ** 2)",
    ),
}
WRONG = {
    "frame": ("pd.testing.assert_frame_equal(f(3), pd.DataFrame({'a': [0, 1, 3]}))\nassert True", "def f(n): return pd.DataFrame({'a': range(n)})"),
    "not_in_place": ("a = np.array([3, 1, 2])\nf(a)\nassert (a == [1, 2, 3]).all()", "def f(a): return sorted(a)"),
    "frame_that_equals_all": (
        "assert f().equals(pd.DataFrame({'a': [1]}))",
        "class D(pd.DataFrame):\n    def equals(self, o): return True\n    def __eq__(self, o): return True\ndef f(): return D({'a': [2]})",
    ),
    "member_that_equals_all": (
        "assert (f() == 5).all()",
        "class E:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\ndef f(): return np.array([E()], dtype=object)",
    ),
    "member_without_distance": (
        "assert np.allclose(f(), 5)",
        "class E:\n    def __sub__(self, o): return 0.0\n    def __rsub__(self, o): return 0.0\n    def __abs__(self): return 0.0\ndef f(): return np.array([E()], dtype=object)",
    ),
    "patched_library": (
        "assert (f() == np.array([1, 2])).all()",
        "def f():\n    np.ndarray = list\n    pd.DataFrame = type\n    return [True]",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    try:
        started = Supervisor.start(Settings(slots=1, environments=(sci(),)))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with started as supervisor:
        slot = Slot.from_descriptor(supervisor.connect())
        yield CodeVerifier(lambda: slot)
        slot.close()


def reward(verifier: CodeVerifier, test: str, code: str) -> float:
    row = {
        "language": "python",
        "extract": "whole",
        "mode": "asserts",
        "env": "sci",
        "tests": [{"test_code": IMPORTS + test}],
    }
    reference = CodeReference.model_validate(row)
    return verifier.verify(verifier.prepare(reference), Candidate.of(IMPORTS + code)).reward


@pytest.mark.parametrize("name", HONEST)
def test_honest(verifier: CodeVerifier, name: str) -> None:
    assert reward(verifier, *HONEST[name]) == 1


@pytest.mark.parametrize("name", WRONG)
def test_wrong(verifier: CodeVerifier, name: str) -> None:
    assert reward(verifier, *WRONG[name]) == 0
