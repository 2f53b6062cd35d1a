"""The kinds of expectation, and `any_of`."""

from __future__ import annotations

from collections.abc import Callable

from assay.contract.references.tool import EXPECTATION_OPTIONS, Expectation
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.tool import calls, results, run
from assay.verifiers.tool.outcome import Check, Context, Outcome
from assay.verifiers.tool.reading import Reply

_DEPTH = 4


def prepare_expectation(expect: Expectation, context: Context, field: str, depth: int = 0) -> Check:
    """Return the check for an expectation. Raises `InvalidReference`."""
    if depth > _DEPTH:
        raise InvalidReference(f"any_of nested deeper than {_DEPTH}", field=field)
    kind = next(name for name in EXPECTATION_OPTIONS if name in expect.model_fields_set)
    if kind not in ("any_of", "state") and getattr(expect, kind) is None:
        raise InvalidReference("must not be empty", field=f"{field}.{kind}")
    if kind == "any_of":
        return _any_of(expect, context, field, depth)
    return KINDS[kind](expect, context, field)


def _any_of(expect: Expectation, context: Context, field: str, depth: int) -> Check:
    checks = [
        prepare_expectation(one, context, f"{field}.any_of.{index}", depth + 1)
        for index, one in enumerate(expect.any_of or ())
    ]
    if not checks:
        raise InvalidReference("must not be empty", field=f"{field}.any_of")

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        best: Outcome | None = None
        for one in checks:
            outcome = one(reply, candidate)
            if best is None or outcome.score > best.score:
                best = outcome
            if best.score == 1:
                break
        assert best is not None
        return best

    return check


def runs_programs(expect: Expectation) -> bool:
    """Return whether an expectation needs a sandbox."""
    return expect.run is not None or any(map(runs_programs, expect.any_of or ()))


def wall_s_of(expect: Expectation) -> float | None:
    """Return the wall seconds that the expectation's programs may take, or None if there are none."""
    if expect.run is not None:
        return run.WALL_S
    parts = [seconds for one in expect.any_of or () if (seconds := wall_s_of(one)) is not None]
    return sum(parts) if parts else None


KINDS: dict[str, Callable[[Expectation, Context, str], Check]] = {
    "calls": calls.calls,
    "no_call": calls.no_call,
    "state": calls.state,
    "retrieval": results.retrieval,
    "output": results.output,
    "answer_from_tool": results.answer_from_tool,
    "run": run.run,
}
"""Every kind except `any_of`."""
