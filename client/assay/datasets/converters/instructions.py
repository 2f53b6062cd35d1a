"""Verifiable instructions: IFEval's rows, and open-instruct's mixed RLVR rows.

IFEval's kinds become constraints of `format` as listed in docs/verifiers/format.md; open-instruct uses function names
for the same kinds. A kind without a counterpart makes the record a fault that names it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from typing import Any

from assay.datasets.converters.base import Converter, Fields, Options, name_of, text
from assay.datasets.converters.ifbench import IF_RLVR, IFBENCH
from assay.datasets.converters.text import last_box
from assay.datasets.records import RecordFault

Params = Fields
Kind = Callable[[Params], dict[str, Any] | list[dict[str, Any]]]
_REL = {"at least": ">=", "less than": "<", "at most": "<=", "exactly": "==", "more than": ">", None: ">="}
_CHOICES = ["My answer is yes.", "My answer is no.", "My answer is maybe."]


def _rel(params: Params, name: str) -> str:
    value = params.get(name)
    if value not in _REL:
        raise RecordFault(f"{name} {value!r} is not a relation")
    return _REL[value]


def _about(kind: str, number: str, relation: str, slack: Callable[[int], int]) -> Kind:
    """Return a count constraint that also supports `around` a number (open-instruct): within `slack` of it."""

    def made(p: Params) -> list[dict[str, Any]]:
        if p.get(relation) != "around":
            return [{"type": kind, "rel": _rel(p, relation), "n": p[number]}]
        within = slack(p[number])
        return [
            {"type": kind, "rel": ">=", "n": max(0, p[number] - within)},
            {"type": kind, "rel": "<=", "n": p[number] + within},
        ]

    return made


def _tenth(n: int) -> int:
    return max(round(n * 0.1), 1)


def _plain(kind: str) -> Kind:
    return lambda p: {"type": kind}


KINDS: dict[str, Kind] = {
    "keywords:existence": lambda p: {"type": "keywords", "all": p["keywords"]},
    "keywords:forbidden_words": lambda p: {"type": "forbidden", "any": p["forbidden_words"]},
    "keywords:frequency": lambda p: {
        "type": "keyword_count", "word": p["keyword"], "rel": _rel(p, "relation"), "n": p["frequency"],
    },
    "keywords:letter_frequency": lambda p: {
        "type": "char_count", "char": p["letter"], "rel": _rel(p, "let_relation"), "n": p["let_frequency"],
    },
    "language:response_language": lambda p: {"type": "language", "code": p["language"]},
    "length_constraints:number_sentences": _about("sentence_count", "num_sentences", "relation", lambda n: 1),
    "length_constraints:number_words": _about("word_count", "num_words", "relation", _tenth),
    "length_constraints:number_paragraphs": lambda p: {
        "type": "paragraph_count", "rel": "==", "n": p["num_paragraphs"], "separator": p.get("separator", "***"),
    },
    "length_constraints:nth_paragraph_first_word": lambda p: {
        "type": "nth_paragraph_first_word", "paragraphs": p["num_paragraphs"], "n": p["nth_paragraph"],
        "word": p["first_word"],
    },
    "detectable_content:number_placeholders": lambda p: {
        "type": "placeholders", "rel": ">=", "n": p["num_placeholders"],
    },
    "detectable_content:postscript": lambda p: {"type": "postscript", "marker": p["postscript_marker"]},
    "detectable_format:number_bullet_lists": lambda p: {"type": "bullets", "n": p["num_bullets"]},
    "detectable_format:constrained_response": lambda p: {"type": "one_of", "options": _CHOICES},
    "detectable_format:number_highlighted_sections": lambda p: {
        "type": "highlights", "rel": ">=", "n": p["num_highlights"],
    },
    "detectable_format:multiple_sections": lambda p: {
        "type": "sections", "marker": p["section_spliter"], "rel": ">=", "n": p["num_sections"],
    },
    "detectable_format:json_format": _plain("json"),
    "detectable_format:title": _plain("title"),
    "combination:two_responses": _plain("two_responses"),
    "combination:repeat_prompt": lambda p: {"type": "repeat_prompt", "prompt": p["prompt_to_repeat"]},
    "startend:end_checker": lambda p: {"type": "ends_with", "text": p["end_phrase"]},
    "startend:quotation": _plain("quoted"),
    "change_case:capital_word_frequency": _about("capital_words", "capital_frequency", "capital_relation", _tenth),
    "change_case:english_capital": _plain("all_caps"),
    "change_case:english_lowercase": _plain("all_lower"),
    "punctuation:no_comma": _plain("no_comma"),
    **IFBENCH,
    **IF_RLVR,
}  # fmt: skip
KINDS["letters:letter_counting2"] = KINDS["keywords:letter_frequency"]
"""IFEval's instruction ids (google-research/instruction_following_eval/instructions_registry.py), IFBench's and
IF-RLVR's.
"""

VERIFIES: dict[str, tuple[str, dict[str, str]]] = {
    "verify_keywords": ("keywords:existence", {"keyword_list": "keywords"}),
    "verify_keyword_frequency": ("keywords:frequency", {"word": "keyword", "N": "frequency"}),
    "validate_forbidden_words": ("keywords:forbidden_words", {}),
    "verify_letter_frequency": ("keywords:letter_frequency", {"N": "let_frequency"}),
    "validate_response_language": ("language:response_language", {}),
    "verify_paragraph_count": ("length_constraints:number_paragraphs", {"N": "num_paragraphs"}),
    "validate_word_constraint": ("length_constraints:number_words", {"N": "num_words", "quantifier": "relation"}),
    "verify_sentence_constraint": (
        "length_constraints:number_sentences", {"N": "num_sentences", "quantifier": "relation"},
    ),
    "validate_paragraphs": (
        "length_constraints:nth_paragraph_first_word", {"N": "num_paragraphs", "i": "nth_paragraph"},
    ),
    "verify_postscript": ("detectable_content:postscript", {}),
    "validate_placeholders": ("detectable_content:number_placeholders", {"N": "num_placeholders"}),
    "verify_bullet_points": ("detectable_format:number_bullet_lists", {"N": "num_bullets"}),
    "validate_title": ("detectable_format:title", {}),
    "validate_choice": ("", {}),
    "validate_choices": ("", {}),
    "validate_highlighted_sections": ("detectable_format:number_highlighted_sections", {"N": "num_highlights"}),
    "validate_sections": (
        "detectable_format:multiple_sections", {"N": "num_sections", "section_splitter": "section_spliter"},
    ),
    "validate_json_format": ("detectable_format:json_format", {}),
    "validate_repeat_prompt": ("combination:repeat_prompt", {"original_prompt": "prompt_to_repeat"}),
    "validate_two_responses": ("combination:two_responses", {}),
    "validate_uppercase": ("change_case:english_capital", {}),
    "validate_lowercase": ("change_case:english_lowercase", {}),
    "validate_frequency_capital_words": (
        "change_case:capital_word_frequency", {"N": "capital_frequency", "quantifier": "capital_relation"},
    ),
    "validate_end": ("startend:end_checker", {}),
    "validate_quotation": ("startend:quotation", {}),
    "validate_no_commas": ("punctuation:no_comma", {}),
}  # fmt: skip
"""open-instruct's functions (if_functions.py): the IFEval kind, and the names of its parameters there."""


_EXACTLY: dict[str, dict[str, str]] = {
    "verify_keyword_frequency": {"relation": "exactly"},
    "verify_letter_frequency": {"let_relation": "exactly"},
    "verify_paragraph_count": {"separator": "* * *"},
}
"""Defaults of if_functions.py for parameters that are not given."""


def constraints(kind: str, params: Params) -> list[dict[str, Any]]:
    """Return the constraints for an IFEval kind. Raises `RecordFault` naming the kind or parameter."""
    if kind not in KINDS:
        raise RecordFault(f"instruction {kind!r} has no counterpart")
    try:
        made = KINDS[kind](params)
        return made if isinstance(made, list) else [made]
    except KeyError as missing:
        raise RecordFault(f"instruction {kind}: missing parameter {missing.args[0]}") from None


def _format(constraints: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "verifier": "format",
        "reference": {"constraints": constraints, "aggregate": "all", "region": "answer"},
    }


def _ifeval(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    kinds, kwargs = fields["instruction_id_list"], fields["kwargs"]
    if not isinstance(kinds, list) or not isinstance(kwargs, list) or len(kinds) != len(kwargs) or not kinds:
        raise RecordFault("instruction_id_list and kwargs are not two lists of equal length")
    given = [_given(params or {}) for params in kwargs]
    yield {
        **name_of(fields.get("key")),
        "prompt": text(fields, "prompt"),
        **_format([c for kind, params in zip(kinds, given, strict=True) for c in constraints(str(kind), params)]),
    }


def _given(params: Params) -> Params:
    """Return the parameters that are set. Parquet gives whole numbers as floats where a column has gaps."""
    return {
        key: int(item) if isinstance(item, float) and item.is_integer() else item
        for key, item in params.items()
        if item is not None and item == item
    }


IFEVAL = Converter(
    name="ifeval",
    summary="prompt, instruction_id_list, kwargs (google/IFEval, allenai/IFBench_test, and sets of their shape)",
    columns=("prompt", "instruction_id_list", "kwargs"),
    convert=_ifeval,
)


def _open_instruct(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    messages, dataset = fields["messages"], fields["dataset"]
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages) or not messages:
        raise RecordFault("column messages is not a list of messages")
    if isinstance(dataset, list) and len(dataset) == 1:
        dataset = dataset[0]
    asked = list(messages)
    while asked and asked[-1].get("role") == "assistant":  # remove the answer, if the dataset has one
        asked.pop()
    yield {**name_of(fields.get("id")), "prompt": asked, **_scored_by(str(dataset).lower(), fields)}


def _scored_by(dataset: str, fields: Fields) -> dict[str, Any]:
    whole = fields["ground_truth"]
    gold = whole[0] if isinstance(whole, list) and len(whole) == 1 else whole
    if dataset in ("gsm8k", "math", "math_rlvr", "gsm"):
        answer = str(gold)
        return {"verifier": "math", "reference": {"answer": last_box(answer) or answer, "extract": "auto"}}
    if dataset in ("ifeval", "if", "if_multi"):
        return _format(_verified(_literal(gold)))
    if dataset in ("code", "code_stdio"):
        tests = whole if isinstance(whole, list) and str(whole[0]).lstrip().startswith("assert") else _literal(gold)
        if not isinstance(tests, list) or not all(isinstance(line, str) for line in tests):
            raise RecordFault("ground_truth is not a list of assertions")
        reference = {"language": "python", "mode": "asserts", "tests": [{"test_code": line} for line in tests]}
        return {"verifier": "code", "reference": reference}
    if dataset in ("string_f1", "string_matcher", "string"):
        return {
            "verifier": "exact",
            "reference": {
                "mode": "string",
                "gold": str(gold),
                "extract": "answer_line",
                "normalise": ["casefold", "ws", "edge_punct"],
            },
        }
    raise RecordFault(f"dataset {dataset!r} has no corresponding verifier")


def _literal(value: Any) -> Any:
    """Parse JSON text or a Python literal; published sets have either. Raises `RecordFault`."""
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise RecordFault("column ground_truth is neither JSON nor a literal")


def _verified(asked: Any) -> list[dict[str, Any]]:
    if isinstance(asked, list) and len(asked) == 1:
        asked = asked[0]
    if isinstance(asked, dict) and isinstance(asked.get("instruction_id"), list):
        pairs = zip(asked["instruction_id"], asked.get("kwargs") or [], strict=True)
        return [c for kind, params in pairs for c in constraints(str(kind), _given(params or {}))]
    if not isinstance(asked, dict) or asked.get("func_name") not in VERIFIES:
        raise RecordFault(f"function {asked.get('func_name') if isinstance(asked, dict) else asked!r} is not known")
    if asked["func_name"] in ("validate_choice", "validate_choices"):
        return [{"type": "one_of", "options": asked.get("options") or _CHOICES}]
    kind, names = VERIFIES[asked["func_name"]]
    params = {names.get(str(key), str(key)): value for key, value in asked.items() if value is not None}
    return constraints(kind, {**_EXACTLY.get(str(asked["func_name"]), {}), **params})


OPEN_INSTRUCT = Converter(
    name="open_instruct",
    summary="messages, ground_truth, dataset (allenai/RLVR-GSM-MATH-IF-Mixed-Constraints)",
    columns=("messages", "ground_truth", "dataset"),
    convert=_open_instruct,
)
