"""Findings from the results of a row's probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.contract.codes import ITEM_FAULTS
from assay.contract.result import Result
from assay.datasets.audit.findings import Finding
from assay.datasets.audit.golds import verifier_of
from assay.datasets.audit.mutants import certain
from assay.datasets.audit.probes import Probe

Row = Mapping[str, Any]
Answered = Sequence[tuple[Probe, Result]]
NEAR = 0.5
"""Share of a limit above which a gold is near the limit."""
_DEFAULT_WALL_S = 5.0


def interpret(row: Row, name: str, line: int, answered: Answered) -> Iterator[Finding]:
    """Yield the findings about one row that follow from the results of its probes."""
    errors = [result.error for probe, result in answered if probe.kind != "schema" and result.error is not None]
    if refusal := next((error for error in errors if error.code in ITEM_FAULTS), None):
        yield Finding(name, line, "refused", refusal.message[:200])
        return
    if errors:
        yield Finding(name, line, "no_verdict", f"{errors[0].code}, {len(errors)} of {len(answered)} probes")
    by_kind = _by_kind(answered)
    if "gold" in by_kind or not any(probe.kind == "gold" for probe, _ in answered):
        yield from _gold(row, name, line, by_kind)
    yield from _wrong_answers(row, name, line, by_kind)
    yield from _schemas(name, line, by_kind)


def _by_kind(answered: Answered) -> dict[str, list[tuple[Probe, Result]]]:
    """Group the probes that got a verdict, and all schema probes, by their kind."""
    by_kind: dict[str, list[tuple[Probe, Result]]] = {}
    for probe, result in answered:
        if result.error is None or probe.kind == "schema":
            by_kind.setdefault(probe.kind, []).append((probe, result))
    return by_kind


def _wrong_answers(row: Row, name: str, line: int, by_kind: Mapping[str, Answered]) -> Iterator[Finding]:
    """Yield findings for mutants and degenerate completions that are rewarded."""
    for probe, result in by_kind.get("mutant", ()):
        if _paid(result, least=1.0 if _partial(row) else 0.0):
            kind = "mutant_accepted" if certain(row) else "mutant_survives"
            yield Finding(name, line, kind, probe.name, probe.name)
    for probe, result in by_kind.get("degenerate", ()):
        if _paid(result, least=0.5 if _partial(row) else 0.0):
            kind = "weak_constraint" if verifier_of(row) == "format" else "gamed"
            yield Finding(name, line, kind, f"degenerate completion: {probe.name}", probe.name)
    if passed := next((probe.name for probe, result in by_kind.get("stub", ()) if _paid(result, least=0.0)), None):
        yield Finding(name, line, "weak_asserts", passed, passed)


def _schemas(name: str, line: int, by_kind: Mapping[str, Answered]) -> Iterator[Finding]:
    """Yield findings for golds that violate the schemas of their own tools."""
    for probe, result in by_kind.get("schema", ()):
        if result.error is not None:
            yield Finding(name, line, "gold_breaks_schema", f"the parameters of {probe.name[:60]} are not a schema")
        elif result.reward == 0:
            yield Finding(name, line, "gold_breaks_schema", f"arguments of {probe.name[:60]}")


def _paid(result: Result, *, least: float) -> bool:
    return result.score is not None and result.score > 0 and result.score >= least


def _partial(row: Row) -> bool:
    """Return whether the row gives partial credit."""
    reference = row.get("reference")
    if not isinstance(reference, Mapping):
        return False
    return reference.get("reward") == "f1" or reference.get("scoring") == "fraction" or reference.get("partial") is True


def _right(result: Result) -> bool:
    return result.score == 1 if result.score is not None else (result.reward or 0) > 0


def _gold(row: Row, name: str, line: int, by_kind: Mapping[str, Answered]) -> Iterator[Finding]:
    if "gold" not in by_kind:
        yield Finding(name, line, "no_gold", "nothing to try")
        return
    ((_, first),) = by_kind["gold"]
    runs = [first, *(result for _, result in by_kind.get("again", ()))]
    verdicts = [_right(result) for result in runs]
    if len(set(verdicts)) > 1:
        yield Finding(name, line, "flaky", f"{sum(verdicts)} of {len(verdicts)} runs passed")
    elif not verdicts[0]:
        low = by_kind.get("low_trust")
        kind = "needs_low_trust" if low and _right(low[0][1]) else "gold_rejected"
        yield Finding(name, line, kind, str(first.reason))
    else:
        yield from _near_limits(row, name, line, runs)


def _near_limits(row: Row, name: str, line: int, runs: Sequence[Result]) -> Iterator[Finding]:
    reference = row.get("reference")
    limits = (reference.get("limits") if isinstance(reference, Mapping) else None) or {}
    if not any(result.tests for result in runs):
        return
    wall = float(limits.get("wall_s") or _DEFAULT_WALL_S)
    allowed = {
        "cpu_ms": float(limits.get("cpu_s") or wall) * 1000,
        "wall_ms": wall * 1000,
        "memory_kb": (limits.get("memory_mb") or 512) * 1024,
    }
    for field, most in allowed.items():
        used = min(max(float(test.get(field) or 0) for test in result.tests) for result in runs if result.tests)
        if used > NEAR * most:
            yield Finding(name, line, "near_limit", f"{field} {used:.0f} of {most:.0f}")
