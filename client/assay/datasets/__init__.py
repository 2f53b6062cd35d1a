"""Datasets before and after a run: conversion of published datasets, audit, rescoring, curation.

    for row in convert(read([Path("gsm8k/train.jsonl")]), find("gsm8k"), Options(), on_fault=print_it): ...

The commands `assay rows`, `audit`, `rescore`, `diff`, `curate` and `passk` apply these functions to files.
"""

from assay.datasets.converters import CONVERTERS, Converter, Options, convert, find, recognise
from assay.datasets.records import Record, RecordFault, read

__all__ = ["CONVERTERS", "Converter", "Options", "Record", "RecordFault", "convert", "find", "read", "recognise"]
