"""In a lane: one job from `prepare` to its report. A completion cannot turn its own failure into *no verdict*:

    prepare refuses, raises, runs out of memory or time   -> invalid_reference (the row's fault)
    verify runs over its CPU budget                       -> OVERRUN  (reward 0)
    verify raises, or runs out of memory or stack         -> FAILED   (the engine tries it once more, alone)
    verify says no verdict (no sandbox, field missing)    -> NO_VERDICT
    verify must run a program, in a lane without sandbox  -> NEEDS_SANDBOX  (runs again in a sandbox lane)
    verify must use sympy, in a lane without it           -> NEEDS_ALGEBRA  (runs again in an algebra lane)

Prepared references are cached by digest, refusals too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from pydantic import ValidationError

from assay.contract.codes import ErrorCode
from assay.service.engine.protocol import ErrorFrame, Job, Kind, Phase, Report
from assay.service.engine.workers.candidates import candidate_of, finite
from assay.service.engine.workers.encode import no_verdict_report, verdict_report
from assay.verifiers import InvalidItem, InvalidReference, NoVerdict, strict_json
from assay.verifiers.errors import NeedsAlgebra
from assay.verifiers.registry import AnyVerifier, Registry

PREPARED = 512


class Overrun(BaseException):
    """Raised inside an item whose CPU budget is spent. Not an Exception: no verifier may swallow it."""


Enter = Callable[[Phase, float, float], tuple[int, int]]
"""Called when a phase begins, with its CPU budget and wall allowance in seconds; returns both clocks in ns."""


class JobRunner:
    """Turns jobs into reports, one at a time, with a cache of prepared references."""

    def __init__(self, registry: Registry, enter: Enter, *, stuck_s: float) -> None:
        self._registry = registry
        self._enter = enter
        self._stuck_s = stuck_s
        self._began: tuple[int, int] | None = None
        self._prepared: LRUCache[tuple[str, bytes], Any] = LRUCache(PREPARED)

    def run(self, job: Job, reference: bytes) -> Report:
        """Return the report on one job. Exceptions that escape end the lane."""
        self._began = None
        report = self._report(job, reference)
        cpu, wall = self._enter(Phase.IDLE, 0.0, 0.0)
        if self._began is not None:
            report.cpu_us = (cpu - self._began[0]) // 1000
            report.run_us = (wall - self._began[1]) // 1000
        return report

    def _begin(self, phase: Phase, cpu_s: float, wall_s: float) -> None:
        clocks = self._enter(phase, cpu_s, wall_s)
        self._began = self._began or clocks

    def _report(self, job: Job, reference: bytes) -> Report:
        verifier = self._registry.get(job.verifier)
        spec = self._spec(verifier, job, reference)
        if isinstance(spec, NoVerdict):
            return no_verdict_report(job.seq, spec)
        try:
            candidate = candidate_of(job)
        except (NoVerdict, OverflowError) as refused:
            return no_verdict_report(job.seq, _as_no_verdict(refused))
        try:
            self._begin(Phase.VERIFY, job.budget_s, verifier.wall_s(spec) or self._stuck_s)
            return verdict_report(job.seq, verifier.verify(spec, candidate))
        except Overrun:
            return Report(job.seq, Kind.OVERRUN)
        except NoVerdict as refused:
            return no_verdict_report(job.seq, refused)
        except NeedsAlgebra:
            return Report(job.seq, Kind.NEEDS_ALGEBRA)
        except Exception as failure:  # the engine decides whether the verifier or the completion is at fault
            return Report(job.seq, Kind.FAILED, error=ErrorFrame(ErrorCode.VERIFIER_ERROR, _place(failure), False))

    def _spec(self, verifier: AnyVerifier, job: Job, reference: bytes) -> Any:
        key = (job.verifier, job.reference_digest)
        spec = self._prepared.get(key)
        if spec is None:
            self._begin(Phase.PREPARE, verifier.budget.prepare_cpu_s, self._stuck_s)
            spec = self._prepared[key] = prepare(verifier, reference)
        return spec


def prepare(verifier: AnyVerifier, reference: bytes) -> Any:
    """Return the spec of a reference, or the `NoVerdict` that refuses it."""
    try:
        value = finite(strict_json.parse(reference))
        model = verifier.reference_model
        exact = (
            model.model_validate_json(reference)
            if not strict_json.holds_lexemes(value)
            else model.model_validate(value)
        )
        return verifier.prepare(exact)
    except NoVerdict as refused:
        return refused
    except strict_json.JsonFault as fault:
        return InvalidReference(f"reference: {fault.detail}", field="reference")
    except ValidationError as error:
        return _refusal(error)
    except OverflowError as fault:
        return InvalidReference(f"reference: {fault}", field="reference")
    except Overrun:
        return InvalidReference("reference: too expensive to prepare", field="reference")
    except Exception as failure:
        return InvalidReference(f"reference: {type(failure).__name__} in prepare", field="reference")


def _place(failure: Exception) -> str:
    """Return what was raised, and where: enough for a plugin's author, without anything of a completion."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return type(failure).__name__ + where


def _refusal(error: ValidationError) -> InvalidReference:
    """Return pydantic's first error without the input that it would echo."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(["reference", *(str(part)[:40] for part in first["loc"])])
    said = str(first["msg"]) if first["type"] in _SAFE_MESSAGES else first["type"].replace("_", " ")
    return InvalidReference(f"{field}: {said[:200]}", field=field)


_SAFE_MESSAGES = {"missing", "extra_forbidden", "value_error", "literal_error", "too_short"}


def _as_no_verdict(refused: Exception) -> NoVerdict:
    return refused if isinstance(refused, NoVerdict) else InvalidItem(f"item: {refused}")
