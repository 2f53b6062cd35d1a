"""Run an audit of a file: rows are streamed, probes are scored in batches, findings are yielded per row.

Memory is bounded by the batches in flight, the findings, and the prompts' digests that `texts` keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.client import AsyncClient
from assay.client.concurrency import in_order
from assay.contract.result import Result
from assay.datasets.audit.findings import KINDS, Finding, Severity
from assay.datasets.audit.golds import expected_calls
from assay.datasets.audit.interpret import interpret
from assay.datasets.audit.probes import Depth, Probe, probes
from assay.datasets.audit.references import reference_findings
from assay.datasets.audit.texts import Prompts, TestSet, hints, tool_golds
from assay.datasets.records import Record
from assay.datasets.second_opinion import NAME, SecondOpinion

BATCH_PROBES = 512
UNDER_WAY = 3


@dataclass
class Report:
    """The findings of an audit, and counts of the audited rows."""

    rows: int = 0
    probes: int = 0
    by_source: Counter[str] = field(default_factory=Counter)
    verifiers: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def flagged(self, severity: Severity = Severity.ERROR) -> set[str]:
        """Return the names of the rows with a finding of at least that severity."""
        return {finding.row for finding in self.findings if finding.severity >= severity}

    @property
    def bad(self) -> int:
        """Number of rows that must not be trained on, counted by file and line, since names may repeat."""
        return len({_place(finding) for finding in self.findings if finding.severity is Severity.ERROR})

    @property
    def bad_share(self) -> float:
        """Share of bad rows."""
        return self.bad / self.rows if self.rows else 0.0

    @property
    def unsure_share(self) -> float:
        """Share of rows that are bad, or that the engine could not score."""
        unsure = {_place(f) for f in self.findings if f.severity is Severity.ERROR or f.kind == "no_verdict"}
        return len(unsure) / self.rows if self.rows else 0.0

    def kinds(self) -> list[tuple[str, int]]:
        """Return the kinds with the number of rows of each, most severe and most frequent first."""
        rows = {kind: len({_place(f) for f in self.findings if f.kind == kind}) for kind in KINDS}
        found = [(kind, count) for kind, count in rows.items() if count]
        return sorted(found, key=lambda pair: (-KINDS[pair[0]][0], -pair[1]))


def _place(finding: Finding) -> tuple[str, int]:
    return finding.source, finding.line


@dataclass
class _Row:
    fields: dict[str, Any]
    name: str
    line: int
    source: str
    probes: Sequence[Probe]


async def audit(
    client: AsyncClient,
    records: Iterable[Record],
    *,
    depth: Depth | None = None,
    test_set: TestSet | None = None,
    on_row: Callable[[], None] = lambda: None,
    second: SecondOpinion | None = None,
) -> Report:
    """Audit rows. Raises the client's errors if the engine cannot be reached.

    `second` is asked about each probe of a mathematical row; a disagreement is a finding.
    """
    report, prompts = Report(), Prompts()
    rows = _rows(records, report, prompts, test_set, depth or Depth())
    async for row, results in _asked(client, rows):
        found = interpret(row.fields, row.name, row.line, list(zip(row.probes, results, strict=True)))
        report.findings += (replace(finding, source=row.source) for finding in found)
        if second is not None:
            report.findings += [replace(f, source=row.source) async for f in _disagreements(second, row, results)]
        report.probes += len(row.probes)
        on_row()
    report.findings = sorted(dict.fromkeys(report.findings), key=lambda finding: (-finding.severity, finding.line))
    return report


async def _disagreements(second: SecondOpinion, row: _Row, results: Sequence[Result]) -> AsyncIterator[Finding]:
    """Probes of a row that the second opinion judges differently."""
    for probe, result in zip(row.probes, results, strict=True):
        opinion = await second.of(probe.item)
        if opinion is not None and result.reward is not None and (result.reward >= 1.0) is not opinion:
            detail = f"{NAME} {'accepts' if opinion else 'rejects'} it, the verifier says {result.reason}"
            yield Finding(row.name, row.line, "second_opinion", detail, probe=probe.kind)


def _rows(
    records: Iterable[Record], report: Report, prompts: Prompts, test_set: TestSet | None, depth: Depth
) -> Iterator[_Row]:
    """Yield rows with their probes, recording findings that need no scoring."""
    for record in records:
        report.rows += 1
        fields = dict(record.fields)
        name = str(fields.get("id") or f"line {record.place}")
        if record.fault is not None:
            report.findings.append(Finding(name, record.place, "refused", record.fault, source=record.source))
            continue
        report.by_source[str(fields.get("source", "-"))] += 1
        report.verifiers[str(fields.get("verifier", "-"))] += 1
        seen = _seen(fields, name, record.place, prompts, test_set)
        report.findings += (replace(finding, source=record.source) for finding in seen)
        yield _Row(fields, name, record.place, record.source, list(probes(fields, depth)))


def _seen(
    fields: dict[str, Any], name: str, line: int, prompts: Prompts, test_set: TestSet | None
) -> Iterator[Finding]:
    """Yield the findings about a row that need no scoring."""
    yield from prompts.check(fields, name, line)
    yield from hints(fields, name, line)
    yield from reference_findings(fields, name, line)
    reference = fields.get("reference")
    calls = expected_calls(reference) if isinstance(reference, dict) else None
    yield from tool_golds(fields, name, line, calls)
    if test_set is not None:
        yield from test_set.check(fields, name, line)


async def _asked(client: AsyncClient, rows: Iterator[_Row]) -> AsyncIterator[tuple[_Row, Sequence[Result]]]:
    """Yield rows with the results of their probes, in order, with a few batches in flight."""

    async def ask(batch: Sequence[_Row]) -> list[tuple[_Row, Sequence[Result]]]:
        return await _ask(client, batch)

    async for answered in in_order(_batches(rows), ask, window=UNDER_WAY):
        for pair in answered:
            yield pair


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    while batch := _batch(rows):
        yield batch


def _batch(rows: Iterator[_Row]) -> list[_Row]:
    batch, size = [], 0
    for row in rows:
        batch.append(row)
        size += len(row.probes)
        if size >= BATCH_PROBES:
            break
    return batch


async def _ask(client: AsyncClient, batch: Sequence[_Row]) -> list[tuple[_Row, Sequence[Result]]]:
    items = [probe.item for row in batch for probe in row.probes]
    results = iter(await client.score(items) if items else [])
    return [(row, [next(results) for _ in row.probes]) for row in batch]
