"""Expectations on the tool results that the environment recorded: `retrieval`, `output`, `answer_from_tool`.

A result counts if it answers a call of that tool. `output` checks the latest result only, not earlier ones.
`answer_from_tool`: the answer (the last box, answer tag or marked answer, else the whole text) occurs in a recorded
result as a whole word or phrase, ignoring case and spacing. A call of an undeclared tool fails all of them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from assay.contract.references.tool import Expectation
from assay.verifiers import strict_json
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact.extractors import EXTRACTORS
from assay.verifiers.matchers import compile_matcher, compile_schema, exact_value, key_of
from assay.verifiers.paths import parse_path, values_at
from assay.verifiers.tool.outcome import Check, Context, Outcome
from assay.verifiers.tool.reading import Recorded, Reply

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_ERROR_KEYS = ("error", "errors", "is_error", "isError")
_ERROR_WORDS = ("error", "failed", "failure")
_ERROR_START = re.compile(r"\s*(?:errors?\b|exception\b|traceback \(most recent call last\))", re.IGNORECASE)


def _of_tool(reply: Reply, tool: str) -> list[Recorded]:
    return [result for result in reply.results if result.call.ok and result.call.name == tool]


def retrieval(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `retrieval`: the first k ids of each result, united in order, against `gold_ids`."""
    asked = expect.retrieval
    assert asked is not None
    tool = context.check_tool(asked.tool, f"{field}.retrieval.tool")
    path = parse_path(asked.id_path, f"{field}.retrieval.id_path")
    gold = {key_of(item) for item in exact_value(asked.gold_ids, f"{field}.retrieval.gold_ids")}

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if context.unknown_tool(reply):
            return Outcome(0.0, "unknown_tool")
        found: dict[Any, None] = {}
        results = _of_tool(reply, tool)
        for result in results:
            found.update((key_of(item), None) for item in islice(_ids(result, path), asked.k))
        ranks = [rank for rank, key in enumerate(found, 1) if key in gold]
        score = _retrieval_score(asked.mode, ranks, len(gold), asked.k * len(results))
        return Outcome(score, "equal" if score == 1 else "not_retrieved")

    return check


def _ids(result: Recorded, path: tuple[str, ...]) -> Iterator[Any]:
    return values_at(result.value[0], path) if result.value else iter(())


def _retrieval_score(mode: str, ranks: list[int], gold: int, places: int) -> float:
    """Return the score. For `ndcg`, ranks are those of the united list, and the ideal list has only gold ids."""
    if mode == "any":
        return float(bool(ranks))
    if mode == "all":
        return float(len(ranks) == gold)
    if mode == "recall" or not ranks:
        return len(ranks) / gold
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(gold, places) + 1))
    return min(1.0, math.fsum(1 / math.log2(rank + 1) for rank in ranks) / ideal)


def output(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `output`: the tool's latest result matches, is valid and is not an error, as far as the row asks for
    each.
    """
    asked = expect.output
    assert asked is not None
    field = f"{field}.output"
    tool, given = context.check_tool(asked.tool, f"{field}.tool"), asked.model_fields_set
    match = _read_either_way(exact_value(asked.match, field), f"{field}.match") if "match" in given else None
    valid = compile_schema(asked.schema_, f"{field}.schema") if "schema_" in given else None
    if match is None and valid is None and not asked.not_error:
        raise InvalidReference("must not be empty", field=field)

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        results = _of_tool(reply, tool)
        if context.unknown_tool(reply):
            return Outcome(0.0, "unknown_tool")
        if not results:
            return Outcome(0.0, "no_result")
        last = results[-1]
        if asked.not_error and _is_error(last):
            return Outcome(0.0, "tool_error")
        if valid is not None and not (last.value and valid(last.value[0])):
            return Outcome(0.0, "schema_mismatch")
        return Outcome.of(match is None or match(last), "unequal")

    return check


_TEXTUAL = frozenset(["$eq", "$ci", "$contains", "$re", "$date"])
_LOGICAL: dict[str, Callable[[Iterable[bool]], bool]] = {
    "$any": any,
    "$all": all,
    "$not": lambda said: not any(said),
}


def _read_either_way(expected: Any, field: str) -> Callable[[Recorded], bool]:
    """Return a predicate on a result's JSON value and, if it is not JSON or a string is expected, also on its text.

    A negation negates both readings: a result that reads as 5 in either way is not "something other than 5".
    """
    test = compile_matcher(expected, field)
    mark = next(iter(expected), "") if isinstance(expected, dict) and len(expected) == 1 else ""
    if mark in _LOGICAL:
        tests = [_read_either_way(part, field) for part in ([expected[mark]] if mark == "$not" else expected[mark])]
        return lambda result: _LOGICAL[mark](test(result) for test in tests)
    textual = isinstance(expected[mark] if mark in _TEXTUAL else expected, str)
    return lambda result: (
        (bool(result.value) and test(_value(result))) or ((textual or not result.value) and test(result.text))
    )


def _value(result: Recorded) -> Any:
    return result.value[0] if result.value else None


def _is_error(result: Recorded) -> bool:
    """Return whether a result reports an error, in one of the conventions of environments."""
    value = _value(result)
    if isinstance(value, dict):
        status = value.get("status", value.get("type"))
        return any(value.get(key) for key in _ERROR_KEYS) or (
            isinstance(status, str) and status.lower() in _ERROR_WORDS
        )
    text = value if isinstance(value, str) else result.text
    return _ERROR_START.match(text) is not None


def answer_from_tool(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `answer_from_tool`: a recorded result of the tool contains the whole final answer."""
    asked = expect.answer_from_tool
    assert asked is not None
    tool = context.check_tool(asked.tool, f"{field}.answer_from_tool.tool")

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if context.unknown_tool(reply):
            return Outcome(0.0, "unknown_tool")
        answer = _plain(_answer(candidate))
        if not answer:
            return Outcome(0.0, "no_answer")
        found = any(_holds(_plain(text), answer) for result in _of_tool(reply, tool) for text in _texts(result))
        return Outcome.of(found, "unsupported_answer")

    return check


def _texts(result: Recorded) -> Iterator[str]:
    """Yield the result's text and, if it is JSON, the text with string escapes decoded."""
    yield _STRING.sub(_unescaped, result.text) if result.value else result.text


def _unescaped(string: re.Match[str]) -> str:
    return f'"{strict_json.value_of(string[0])}"' if "\\" in string[0] else string[0]


def _answer(candidate: Candidate) -> str:
    """Return the marked answer of the last message, or else all of it."""
    answer = candidate.answer
    if answer is None:
        return ""
    for rule in ("boxed", "answer_tag", "answer_line"):
        found = EXTRACTORS[rule].last(answer.text)
        if found is not None and found.text:
            return found.text
    return answer.text


def _plain(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    return " ".join(normal.casefold().split()).strip(".!?,;:\"'`*")


def _holds(text: str, answer: str) -> bool:
    """Return whether `answer` occurs in `text` and not inside a longer word or number."""
    at = text.find(answer)
    while at >= 0:
        before, after = text[max(0, at - 2) : at], text[at + len(answer) : at + len(answer) + 2]
        if not _joined(before[::-1], answer[0]) and not _joined(after, answer[-1]):
            return True
        at = text.find(answer, at + 1)
    return False


def _joined(beside: str, edge: str) -> bool:
    """Return whether the text next to the edge of an answer belongs to the same word or number."""
    if not beside or not edge.isalnum():
        return False
    if beside[0].isalnum() or beside[0] == "_":
        return True
    return edge.isdigit() and beside[0] in ".,-" and ((len(beside) > 1 and beside[1].isdigit()) or beside[0] == "-")
