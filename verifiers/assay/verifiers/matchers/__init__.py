"""Expected values: plain JSON means equality of JSON values; objects with a `$…` key are matchers."""

from assay.verifiers.matchers.assignment import maximum_matching
from assay.verifiers.matchers.compiling import MISSING, Matcher, compile_matcher, exact_value, has_matchers
from assay.verifiers.matchers.equality import key_of, same
from assay.verifiers.matchers.json_schema import compile_schema

__all__ = [
    "MISSING",
    "Matcher",
    "compile_matcher",
    "compile_schema",
    "exact_value",
    "has_matchers",
    "key_of",
    "maximum_matching",
    "same",
]
