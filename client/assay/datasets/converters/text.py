"""Questions with a short answer: GSM8K, MATH, and the columns of TRL, open-r1 and verl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assay.client.templates import MissingColumn, RowFault, template
from assay.datasets.converters.base import Converter, Fields, Options, json_of, name_of, text
from assay.datasets.converters.competitive import reference_of_tests
from assay.datasets.records import RecordFault

_HASH = re.compile(r"####[ \t]*(.+?)[ \t]*$", re.M)
_BARE_BOX = re.compile(r"\\boxed[ \t]+([^\s$.,]+)")
_NO_ANSWER = frozenset({"proof", "notfound", "not found", "none", "n/a"})
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")


def _gsm8k(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    worked = text(fields, "answer")
    found = _HASH.findall(worked)
    if not found:
        raise RecordFault("column answer has no `####` line")
    gold = found[-1].replace(",", "").removeprefix("$").strip()
    if not gold:
        raise RecordFault("the `####` line of column answer is blank")
    yield {
        **name_of(fields.get("id")),
        "prompt": text(fields, "question"),
        **scored_by(fields, options, "math", {"answer": gold, "extract": "auto"}),
        "gold_completion": _CALCULATOR.sub("", worked),
    }


GSM8K = Converter(
    name="gsm8k",
    summary="question, answer with a `#### n` line (openai/gsm8k)",
    columns=("question", "answer"),
    convert=_gsm8k,
)


def last_box(solution: str) -> str | None:
    r"""Return the content of the last complete `\boxed{…}` or `\fbox{…}`, with balanced braces, or None."""
    start = max(solution.rfind("\\boxed{"), solution.rfind("\\fbox{"))
    if start < 0:
        bare = _BARE_BOX.findall(solution)
        return bare[-1] if bare else None
    begin, depth = solution.index("{", start), 0
    for at in range(begin, len(solution)):
        escaped = solution[at - 1] == "\\"
        depth += {"{": 1, "}": -1}.get(solution[at], 0) * (not escaped)
        if depth == 0:
            return solution[begin + 1 : at]
    return None


def _math(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    solution = text(fields, "solution")
    gold = fields.get("answer")
    gold = gold if isinstance(gold, str) and gold.strip() else last_box(solution)
    if gold is None or gold.strip().lower() in _NO_ANSWER:
        raise RecordFault("no answer: no box in column solution, and column answer is empty")
    boxed = last_box(solution) is not None  # a box that is added here would only say that the gold equals itself
    yield {
        **name_of(fields.get("unique_id") or fields.get("uuid") or fields.get("id")),
        "prompt": text(fields, "problem"),
        **scored_by(fields, options, "math", {"answer": gold}),
        **({"gold_completion": solution} if boxed else {}),
    }


MATH = Converter(
    name="math",
    summary="problem, solution with a box, answer where given (MATH, open-r1, NuminaMath)",
    columns=("problem", "solution"),
    convert=_math,
)


def _deep_math(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    yield {
        **name_of(fields.get("id")),
        "prompt": text(fields, "question"),
        **scored_by(fields, options, "math", {"answer": text(fields, "final_answer"), "extract": "auto"}),
    }


DEEP_MATH = Converter(
    name="deep_math",
    summary="question, final_answer (DeepMath and sets in its format)",
    columns=("question", "final_answer"),
    convert=_deep_math,
)


def _gold(fields: Fields) -> Any:
    """Return the value of the first gold column that has one; of a worked solution only the box counts."""
    for name in _GOLD_COLUMNS:
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        if name != "solution" or last_box(str(value)) is not None:
            return value
    return None


def _trl(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    gold = _gold(fields)
    if gold is None and options.reference is None:
        raise RecordFault(f"missing column {', '.join(_GOLD_COLUMNS)}; give --verifier and --reference")
    usual = {"answer": (last_box(gold) if isinstance(gold, str) else None) or str(gold), "extract": "auto"}
    worked = fields.get("solution")
    yield {
        **name_of(fields.get("id")),
        "prompt": _prompt(fields["prompt"]),
        **scored_by(fields, options, "math", usual),
        **({"gold_completion": worked} if isinstance(worked, str) and last_box(worked) is not None else {}),
    }


_GOLD_COLUMNS = ("answer", "ground_truth", "solution", "label", "target", "final_answer")
TRL = Converter(
    name="trl",
    summary="prompt (text or messages) and a gold column, as TRL's trainers take them",
    columns=("prompt",),
    convert=_trl,
)


def _prompt(value: Any) -> Any:
    messages = isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value)
    if not messages and not (isinstance(value, str) and value.strip()):
        raise RecordFault("column prompt is neither text nor messages")
    return [{k: v for k, v in m.items() if v is not None} for m in value] if messages else value


def _verl(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    model, source = fields["reward_model"], text(fields, "data_source")
    if not isinstance(model, dict) or "ground_truth" not in model:
        raise RecordFault("column reward_model has no ground_truth")
    extra = fields.get("extra_info") if isinstance(fields.get("extra_info"), dict) else {}
    assert isinstance(extra, dict)
    index = extra.get("index")
    yield {
        **name_of(None if index is None else f"{source}-{extra.get('split', 'row')}-{index}"),
        "prompt": _prompt(fields["prompt"]),
        **(scored_by(fields, options, "", {}) if options.reference is not None else _by_source(source, model, extra)),
    }


def _by_source(source: str, model: Fields, extra: Fields) -> dict[str, Any]:
    """Return verifier and reference as `assay curate` wrote them, or by verl's own names (reward_score/__init__.py)."""
    gold = model["ground_truth"]
    if isinstance(extra.get("verifier"), str):
        return {"verifier": extra["verifier"], "reference": json_of(model, "ground_truth")}
    if isinstance(gold, dict) or (isinstance(gold, str) and gold.lstrip().startswith("{") and '"inputs"' in gold):
        tests = json_of(model, "ground_truth")
        if isinstance(tests, dict) and "inputs" in tests:
            return {"verifier": "code", "reference": reference_of_tests(tests)}
    if source.startswith("searchR1"):
        targets = gold.get("target", gold) if isinstance(gold, dict) else gold
        golds = [str(item) for item in (targets if isinstance(targets, list) else [targets])]
        rule = {"mode": "string", "extract": "answer_tag", "normalise": ["casefold", "strip_punct", "articles", "ws"]}
        return {"verifier": "exact", "reference": {**rule, "gold": golds[0], "aliases": golds[1:] or None}}
    if not isinstance(gold, str | int | float):
        raise RecordFault("reward_model.ground_truth is not text; give --verifier and --reference")
    return {"verifier": "math", "reference": {"answer": str(gold), "extract": "auto"}}


VERL = Converter(
    name="verl",
    summary="data_source, prompt, reward_model.ground_truth (verl's Parquet)",
    columns=("data_source", "prompt", "reward_model"),
    convert=_verl,
)


def scored_by(fields: Fields, options: Options, verifier: str, reference: Fields) -> dict[str, Any]:
    """Return verifier and reference from the user's template, or else those given. Raises `RecordFault`."""
    if options.reference is None:
        return {"verifier": options.verifier or verifier, "reference": reference}
    if not (options.verifier or verifier):
        raise RecordFault("--reference requires --verifier")
    try:
        return {"verifier": options.verifier or verifier, "reference": template(options.reference)(fields)}
    except (MissingColumn, RowFault) as fault:
        raise RecordFault(str(fault)) from None
