"""The probes of a row: items to score, each with the meaning of its result."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.contract.item import ITEM_FIELDS
from assay.datasets.audit.degenerate import degenerate_completions, stubs
from assay.datasets.audit.golds import arguments, expectation, expected_calls, gold_of, verifier_of
from assay.datasets.audit.mutants import mutants

Row = Mapping[str, Any]
_OF_ROLLOUTS = frozenset(
    {
        "id",
        "completion",
        "group",
        "run",
        "step",
        "truncated",
        "scores",
        "final_state",
        "completion_tokens",
        "completion_ids",
    }
)
"""Fields of a rollout; a row's own values are ignored for its probes."""
_SENT = frozenset(ITEM_FIELDS) - _OF_ROLLOUTS


@dataclass(frozen=True)
class Probe:
    """One item to score. `kind`: gold, again, mutant, degenerate, stub, low_trust or schema."""

    kind: str
    name: str
    item: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Depth:
    """How thoroughly to audit."""

    repeats: int = 3
    """Number of runs of a program's gold, to test that its verdict is stable."""
    mutants: bool = True
    degenerate: bool = True


def probes(row: Row, depth: Depth) -> Iterator[Probe]:
    """Yield all probes of a row."""
    base = {key: value for key, value in row.items() if key in _SENT and value is not None}
    gold = gold_of(row)
    if gold is not None:
        yield Probe("gold", "gold", _item(base, gold, opinion=1.0))
        if _runs(row):
            for turn in range(1, depth.repeats):
                yield Probe("again", f"gold, run {turn + 1}", _item(base, _nudged(gold, turn), opinion=1.0))
        if _asserts(row):
            low = {**base, "reference": {**base["reference"], "trust": "low"}}
            yield Probe("low_trust", "gold with trust: low", _item(low, gold, opinion=1.0))
        if depth.mutants:
            for name, text in mutants(row, gold):
                yield Probe("mutant", name, _item(base, text, opinion=0.0))
    if depth.degenerate:
        for name, text in degenerate_completions(row):
            yield Probe("degenerate", name, _item(base, text, opinion=0.0))
        for name, text in stubs(row):
            yield Probe("stub", name, _item(base, text, opinion=0.0))
    yield from _schemas(row)


def _item(base: Row, completion: Any, *, opinion: float) -> dict[str, Any]:
    """Return the item, with values that a generator and other judges would supply: token counts (here words) and
    scores.
    """
    item: dict[str, Any] = {**base, "completion": completion}
    if verifier_of(base) in ("format", "composite"):
        said = completion.split() if isinstance(completion, str) else []
        item.setdefault("completion_tokens", len(said))
        item.setdefault("completion_ids", [hash_of(word) for word in said])
    if "state" in expectation(base.get("reference")):
        item["final_state"] = {}
    if names := list(_given(base.get("reference"))):
        item.setdefault("scores", dict.fromkeys(names, opinion))
    return item


def hash_of(word: str) -> int:
    """Return a token id that is the same in every process."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) & 0xFFFF


def _given(reference: Any) -> Iterator[str]:
    """Yield the names of the scores that parts of a composite take from other judges."""
    if not isinstance(reference, Mapping):
        return
    params = reference.get("params")
    if isinstance(params, Mapping) and isinstance(params.get("judge"), str):
        yield params["judge"]
    parts = reference.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and isinstance(inner := part.get("reference"), Mapping):
            if verifier_of(part) == "given" and isinstance(inner.get("name"), str):
                yield inner["name"]
            yield from _given(inner)


def _runs(row: Row) -> bool:
    return verifier_of(row) in ("code", "script", "composite")


def _asserts(row: Row) -> bool:
    reference = row.get("reference")
    return isinstance(reference, Mapping) and reference.get("mode") == "asserts" and reference.get("trust") != "low"


def _nudged(gold: Any, turn: int) -> Any:
    """Return the same answer with another item key, so that no cached verdict is returned for it."""
    if isinstance(gold, str):
        return "\n" * turn + gold
    return [*gold[:-1], {**gold[-1], "reasoning_content": " " * turn}]


def _schemas(row: Row) -> Iterator[Probe]:
    """Yield each expected call's arguments as a completion of `schema`, with the tool's own parameters."""
    reference = row.get("reference")
    tools = reference.get("tools") if isinstance(reference, Mapping) and verifier_of(row) == "tool" else None
    if not isinstance(tools, list):
        return
    parameters = {
        str(function.get("name")): function.get("parameters")
        for tool in tools
        if isinstance(tool, Mapping) and isinstance(function := tool.get("function") or tool, Mapping)
    }
    for name, pattern in expected_calls(reference) or ():  # type: ignore[arg-type]
        made = arguments(pattern)
        if made is not None and isinstance(parameters.get(name), Mapping):
            item = {"verifier": "schema", "reference": {"schema": parameters[name]}, "completion": json.dumps(made)}
            yield Probe("schema", name, item)
