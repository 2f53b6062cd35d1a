"""Before and after a run: rows from published datasets, audit, rescoring, curation.

    for row in convert(read([Path("gsm8k/train.jsonl")]), find("gsm8k"), Options(), on_fault=print_it): ...

The command line (`assay rows`, `audit`, `rescore`, `diff`, `curate`, `passk`) is these functions on files.
"""

from assay.datasets.adapters import ADAPTERS, Adapter, Options, convert, find, recognise
from assay.datasets.records import Record, RecordFault, read

__all__ = ["ADAPTERS", "Adapter", "Options", "Record", "RecordFault", "convert", "find", "read", "recognise"]
