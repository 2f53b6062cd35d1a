"""`pytest.approx`: numbers, complex and Decimal too, and lists, tuples, dicts and arrays of them."""

from __future__ import annotations

import decimal
import math
from typing import Any

from assay.sandbox.guest.values import tables


class approx:
    """As `pytest.approx`. The relative tolerance is 1e-6, the absolute one 1e-12 unless given."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    __array_priority__ = 100

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> None:
        self._expected, self._rel, self._abs, self._nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual: object) -> bool:
        return self._close(actual, self._expected)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"

    def _close(self, actual: Any, expected: Any) -> bool:
        if tables.is_array(expected) or tables.is_array(actual):
            return self._close(_listed(actual), _listed(expected))
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._close(actual[key], item) for key, item in expected.items())
            )
        if isinstance(expected, (list, tuple)):
            return (
                isinstance(actual, (list, tuple))
                and len(actual) == len(expected)
                and all(self._close(a, b) for a, b in zip(actual, expected, strict=True))
            )
        if isinstance(expected, decimal.Decimal):
            return isinstance(actual, (decimal.Decimal, int)) and self._close_numbers(actual, expected)
        if isinstance(expected, (int, float, complex)) and not isinstance(expected, bool):
            return isinstance(actual, (int, float, complex)) and self._close_numbers(actual, expected)
        return bool(actual == expected)

    def _close_numbers(self, actual: Any, expected: Any) -> bool:
        if actual == expected:
            return True
        if _is_nan(actual) or _is_nan(expected):
            return self._nan_ok and _is_nan(actual) and _is_nan(expected)
        if not (_is_finite(actual) and _is_finite(expected)):
            return False
        sort = decimal.Decimal if isinstance(expected, decimal.Decimal) else float
        relative = sort("1e-6") if self._rel is None and self._abs is None else sort(self._rel or 0)
        absolute = sort("1e-12") if self._abs is None else sort(self._abs)
        try:
            return bool(abs(actual - expected) <= max(absolute, relative * abs(expected)))
        except OverflowError:
            return False


def _listed(value: Any) -> Any:
    return value.tolist() if tables.is_array(value) else value


def _is_nan(value: Any) -> bool:
    return bool(value != value)


def _is_finite(value: Any) -> bool:
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    try:
        return math.isfinite(value)
    except OverflowError:
        return True  # an integer beyond floats
