"""Adapters: from the published shapes of datasets to rows of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from assay.cli.errors import Unusable
from assay.datasets.adapters.base import Adapter, Fields, Options
from assay.datasets.adapters.bfcl import BFCL
from assay.datasets.adapters.competitive import APPS, CODE_CONTESTS, LIVE_CODE_BENCH
from assay.datasets.adapters.functions import HUMANEVAL, MBPP
from assay.datasets.adapters.gym import REASONING_GYM
from assay.datasets.adapters.instructions import IFEVAL, OPEN_INSTRUCT
from assay.datasets.adapters.text import DEEP_MATH, GSM8K, MATH, TRL, VERL
from assay.datasets.records import Record, RecordFault

ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        GSM8K, MATH, DEEP_MATH, HUMANEVAL, MBPP, BFCL, IFEVAL, APPS, CODE_CONTESTS, LIVE_CODE_BENCH, VERL,
        OPEN_INSTRUCT, REASONING_GYM, TRL,
    )
}  # fmt: skip
"""By name; `auto` takes the first whose columns a record has."""
ALIASES = {"taco": "apps", "open_r1": "math", "lcb": "live_code_bench", "codecontests": "code_contests"}


def find(name: str) -> Adapter:
    """Return the adapter of that name. Raises `Unusable`."""
    plain = name.lower().replace("-", "_")
    adapter = ADAPTERS.get(ALIASES.get(plain, plain))
    if adapter is None:
        raise Unusable(f"no dataset shape {name!r}; known: {', '.join(sorted({*ADAPTERS, *ALIASES}))}")
    return adapter


def recognise(fields: Fields) -> Adapter:
    """Return the adapter whose columns a record has. Raises `Unusable`."""
    for adapter in ADAPTERS.values():
        if adapter.fits(fields):
            return adapter
    columns = ", ".join(sorted(map(str, fields))[:20])
    raise Unusable(f"no known shape has these columns: {columns}; say which with the first argument")


def convert(
    records: Iterable[Record], adapter: Adapter | None, options: Options, on_fault: Callable[[Record, str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of all records; a record at fault is told to `on_fault` and left out. Raises `Unusable`."""
    for number, record in enumerate(records, 1):
        try:
            if adapter is None and record.fault is None:
                adapter = recognise(record.fields)
            if adapter is None:
                raise RecordFault(record.fault or "no record")
            yield from adapter.rows(record, options, number=number)
        except RecordFault as fault:
            on_fault(record, str(fault))
        except (TypeError, AttributeError, LookupError, ValueError, RecursionError) as error:
            on_fault(
                record, f"not of the shape of {adapter.name if adapter else 'any dataset'} ({type(error).__name__})"
            )


__all__ = ["ADAPTERS", "Adapter", "Options", "convert", "find", "recognise"]
