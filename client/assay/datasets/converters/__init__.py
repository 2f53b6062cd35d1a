"""Converters from the published formats of datasets to rows of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from assay.cli.errors import Unusable
from assay.datasets.converters.base import Converter, Fields, Options
from assay.datasets.converters.bfcl import BFCL
from assay.datasets.converters.choice import ARC, GPQA, MMLU, MMLU_PRO
from assay.datasets.converters.competitive import APPS, CODE_CONTESTS, LIVE_CODE_BENCH
from assay.datasets.converters.functions import HUMANEVAL, MBPP
from assay.datasets.converters.gym import REASONING_GYM
from assay.datasets.converters.instructions import IFEVAL, OPEN_INSTRUCT
from assay.datasets.converters.mixed import AIME, AIME_2024, SYNTHETIC_1, XLAM
from assay.datasets.converters.text import DEEP_MATH, GSM8K, MATH, TRL, VERL
from assay.datasets.records import Record, RecordFault

CONVERTERS = {
    converter.name: converter
    for converter in (
        MMLU,
        MMLU_PRO,
        ARC,
        GPQA,
        XLAM,
        GSM8K,
        MATH,
        AIME,
        AIME_2024,
        DEEP_MATH,
        HUMANEVAL,
        MBPP,
        BFCL,
        IFEVAL,
        APPS,
        CODE_CONTESTS,
        LIVE_CODE_BENCH,
        VERL,
        OPEN_INSTRUCT,
        REASONING_GYM,
        SYNTHETIC_1,
        TRL,
    )
}
"""Converters by name. `auto` takes the first whose columns a record has."""
ALIASES = {
    "taco": "apps",
    "open_r1": "math",
    "lcb": "live_code_bench",
    "codecontests": "code_contests",
    "ifbench": "ifeval",
    "iftrain": "open_instruct",
}


def find(name: str) -> Converter:
    """Return the converter of that name. Raises `Unusable`."""
    plain = name.lower().replace("-", "_")
    converter = CONVERTERS.get(ALIASES.get(plain, plain))
    if converter is None:
        raise Unusable(f"unknown dataset format {name!r}; known: {', '.join(sorted({*CONVERTERS, *ALIASES}))}")
    return converter


def recognise(fields: Fields) -> Converter:
    """Return the converter whose columns a record has. Raises `Unusable`."""
    for converter in CONVERTERS.values():
        if converter.fits(fields):
            return converter
    columns = ", ".join(sorted(map(str, fields))[:20])
    raise Unusable(f"no known format has these columns: {columns}; name the format as the first argument")


def convert(
    records: Iterable[Record], converter: Converter | None, options: Options, on_fault: Callable[[Record, str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of all records. A faulty record is passed to `on_fault` and skipped. Raises `Unusable`."""
    for number, record in enumerate(records, 1):
        try:
            if converter is None and record.fault is None:
                converter = recognise(record.fields)
            if converter is None:
                raise RecordFault(record.fault or "not a record")
            yield from converter.rows(record, options, number=number)
        except RecordFault as fault:
            on_fault(record, str(fault))
        except (TypeError, AttributeError, LookupError, ValueError, RecursionError) as error:
            on_fault(
                record,
                f"not in the format of {converter.name if converter else 'any dataset'} ({type(error).__name__})",
            )


__all__ = ["CONVERTERS", "Converter", "Options", "convert", "find", "recognise"]
