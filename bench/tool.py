"""Verdicts per second in a lane for tool, schema, format, composite; next to jsonschema and BFCL's checker if
installed.

Rows: BFCL's `simple_python` and `parallel` answers in four syntaxes, `irrelevance` prose, JSON objects, IFEval-like
constraints. One process, CPU time, references prepared once per row, as in a lane.
"""

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench._table import show

DATA = Path(__file__).parents[2] / "shared/data/bfcl"
ROUNDS = 5
Row = tuple[dict[str, Any], Any]

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "minItems": 1},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROSE = (
    "Modern art matters, and many people enjoy it. The museum opens at nine; visitors can buy tickets at the door. "
    "What do they see? Paintings, mostly, and a few sculptures that were made long ago.\n\n"
) * 8


def calls_of(answers: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the first accepted answer of a BFCL row."""
    calls = []
    for call in answers["ground_truth"]:
        name, args = next(iter(call.items()))
        calls.append((name, {key: values[0] for key, values in args.items() if values[0] != ""}))
    return calls


def matcher(values: list[Any]) -> Any:
    """Return BFCL's accepted values as a matcher."""
    golds = {"$any": [value for value in values if value != ""] or [""]}
    return {"$optional": golds} if "" in values else golds


def tool_rows(write: Callable[[Sequence[Any]], Any]) -> list[Row]:
    """Return BFCL's rows as tool items, with answers written by `write`."""
    rows = []
    for category in ("simple_python", "parallel"):
        questions = map(json.loads, (DATA / f"{category}.jsonl").open())
        answers = map(json.loads, (DATA / f"{category}.answers.jsonl").open())
        for question, answer in zip(questions, answers, strict=True):
            wanted = [
                {"name": name, "args": {key: matcher(values) for key, values in args.items()}}
                for call in answer["ground_truth"]
                for name, args in call.items()
            ]
            reference = {"tools": question["function"], "expect": {"calls": wanted}}
            rows.append((reference, write(calls_of(answer))))
    return rows


def hermes(calls: Sequence[Any]) -> str:
    body = (f"<tool_call>\n{json.dumps({'name': name, 'arguments': args})}\n</tool_call>" for name, args in calls)
    return "<think>They want a call.</think>\n" + "\n".join(body)


def pythonic(calls: Sequence[Any]) -> str:
    return "[" + ", ".join(f"{name}({', '.join(f'{k}={v!r}' for k, v in args.items())})" for name, args in calls) + "]"


def qwen3_xml(calls: Sequence[Any]) -> str:
    def one(name: str, args: dict[str, Any]) -> str:
        bare = ((key, value if isinstance(value, str) else json.dumps(value)) for key, value in args.items())
        body = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in bare)
        return f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>"

    return "\n".join(one(*call) for call in calls)


def openai(calls: Sequence[Any]) -> list[dict[str, Any]]:
    entries = [{"id": str(i), "function": {"name": n, "arguments": json.dumps(a)}} for i, (n, a) in enumerate(calls)]
    return [{"role": "assistant", "content": None, "tool_calls": entries}]


def abstentions() -> list[Row]:
    """Return BFCL's irrelevance rows, answered with prose."""
    rows = map(json.loads, (DATA / "irrelevance.jsonl").open())
    return [({"tools": row["function"], "expect": {"no_call": True}}, PROSE) for row in rows]


def objects() -> list[str]:
    """Return JSON objects, half of them invalid."""
    tags = ["red", "green", "blue"]
    made = [{"name": f"n{i}", "age": i, "tags": tags, "address": {"city": "Rome"}} for i in range(200)]
    return [json.dumps(one if i % 2 else {**one, "age": -1}) for i, one in enumerate(made)]


def format_rows() -> list[Row]:
    rules = [
        {"type": "keywords", "all": ["art", "museum"]},
        {"type": "no_comma"},
        {"type": "word_count", "rel": ">", "n": 50},
        {"type": "sentence_count", "rel": ">=", "n": 10},
        {"type": "bullets", "n": 0},
        {"type": "placeholders", "rel": "==", "n": 0},
    ]
    return [({"constraints": [rule], "aggregate": "all"}, PROSE) for rule in rules] * 30


def language_rows() -> list[Row]:
    return [({"constraints": [{"type": "language", "code": "en"}], "aggregate": "all"}, PROSE)] * 100


def composite_rows() -> list[Row]:
    """Return items with R1-Zero's reward on GSM8K-like answers."""
    text = "<think>Six times seven.</think>\n<answer>\\boxed{42}</answer>"
    return [({"preset": "r1_zero", "params": {"reference": {"answer": str(n)}}}, text) for n in range(100)]


def per_item(verifier_name: str, rows: Sequence[Row]) -> float:
    """Return CPU seconds per `verify` call."""
    from assay.verifiers.candidate import Candidate, Message
    from assay.verifiers.registry import Registry

    verifier = Registry().get(verifier_name)
    model = verifier.reference_model
    specs = [verifier.prepare(model.model_validate_json(json.dumps(reference))) for reference, _ in rows]

    def candidate(text: Any) -> Candidate:
        if isinstance(text, str):
            return Candidate.of(text)
        return Candidate(messages=tuple(Message(**message) for message in text))

    start = time.process_time()
    for _ in range(ROUNDS):
        for spec, (_, text) in zip(specs, rows, strict=True):
            verifier.verify(spec, candidate(text))
    return (time.process_time() - start) / (ROUNDS * len(rows))


def jsonschema_per_item(texts: Sequence[str]) -> float | None:
    """Return CPU seconds of `json.loads` and jsonschema's compiled validator, or None if it is not installed."""
    if importlib.util.find_spec("jsonschema") is None:
        return None
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(SCHEMA)
    start = time.process_time()
    for _ in range(ROUNDS):
        for text in texts:
            validator.is_valid(json.loads(text))
    return (time.process_time() - start) / (ROUNDS * len(texts))


def bfcl_per_item() -> float | None:
    """Return CPU seconds of BFCL's `ast_checker` on decoded calls (without parsing), or None if it is not installed."""
    try:
        from bfcl_eval.constants.enums import Language
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
    except ImportError:
        return None
    rows = []
    for category in ("simple_python", "parallel"):
        questions = map(json.loads, (DATA / f"{category}.jsonl").open())
        answers = map(json.loads, (DATA / f"{category}.answers.jsonl").open())
        for question, answer in zip(questions, answers, strict=True):
            decoded = [{name: args} for name, args in calls_of(answer)]
            rows.append((question["function"], decoded, answer["ground_truth"], category))
    start = time.process_time()
    for function, decoded, truth, category in rows:
        ast_checker(function, decoded, truth, Language.PYTHON, category, "gpt-4o-2024-11-20-FC")
    return (time.process_time() - start) / len(rows)


def main() -> None:
    """Print the table."""
    texts = objects()
    peer = jsonschema_per_item(texts)
    table: list[list[object]] = []

    def add(name: str, seconds: float | None, beside: float | None = None) -> None:
        if seconds is None:
            table.append([f"{name}: not installed", "", "", ""])
        else:
            table.append([name, 1 / seconds, seconds * 1e6, beside / seconds if beside else ""])

    if DATA.exists():
        bfcl = bfcl_per_item()
        add("BFCL ast_checker, on decoded calls", bfcl, bfcl)
        for write in (openai, hermes, qwen3_xml, pythonic):
            add(f"tool, {write.__name__}, parsing and matching", per_item("tool", tool_rows(write)), bfcl)
        add("tool, abstention on prose", per_item("tool", abstentions()))
    add("jsonschema, with json.loads", peer, peer)
    add("schema", per_item("schema", [({"schema": SCHEMA}, text) for text in texts]), peer)
    add("format, one constraint on 1.5 kB", per_item("format", format_rows()))
    add("format, language of 1.5 kB", per_item("format", language_rows()))
    add("composite, r1_zero preset with math", per_item("composite", composite_rows()))
    show(["BFCL rows and the like", "verdicts/s", "µs", "x peer"], table)
