"""The audit of a file: rows stream through, probes travel in batches, findings come back row by row.

Memory is that of the batches under way, of the findings, and of what `texts` keeps of prompts.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.client import AsyncClient
from assay.datasets.audit.findings import KINDS, Finding, Severity
from assay.datasets.audit.golds import expected_calls
from assay.datasets.audit.judge import judge
from assay.datasets.audit.probes import Depth, Probe, probes
from assay.datasets.audit.texts import Prompts, TestSet, hints, tool_golds
from assay.datasets.records import Record
from assay.wire.result import Result

BATCH_PROBES = 512
UNDER_WAY = 3


@dataclass
class Report:
    """What an audit found, and of how many rows."""

    rows: int = 0
    probes: int = 0
    by_source: Counter[str] = field(default_factory=Counter)
    verifiers: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def flagged(self, severity: Severity = Severity.ERROR) -> set[str]:
        """Names of the rows with a finding of that severity or graver."""
        return {finding.row for finding in self.findings if finding.severity >= severity}

    @property
    def bad_share(self) -> float:
        """The share of rows that must not be trained on."""
        return len(self.flagged()) / self.rows if self.rows else 0.0

    def kinds(self) -> list[tuple[str, int]]:
        """Kinds and the number of rows with each, gravest and most frequent first."""
        rows = {kind: len({f.row for f in self.findings if f.kind == kind}) for kind in KINDS}
        found = [(kind, count) for kind, count in rows.items() if count]
        return sorted(found, key=lambda pair: (-KINDS[pair[0]][0], -pair[1]))


@dataclass
class _Row:
    fields: dict[str, Any]
    name: str
    line: int
    probes: Sequence[Probe]


async def audit(
    client: AsyncClient,
    records: Iterable[Record],
    *,
    depth: Depth | None = None,
    test_set: TestSet | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> Report:
    """Audit rows. Raises what the client raises where the engine cannot be reached."""
    report, prompts = Report(), Prompts()
    rows = _rows(records, report, prompts, test_set, depth or Depth())
    async for row, results in _asked(client, rows):
        report.findings += judge(row.fields, row.name, row.line, list(zip(row.probes, results, strict=True)))
        report.probes += len(row.probes)
        on_row()
    report.findings = sorted(dict.fromkeys(report.findings), key=lambda finding: (-finding.severity, finding.line))
    return report


def _rows(
    records: Iterable[Record], report: Report, prompts: Prompts, test_set: TestSet | None, depth: Depth
) -> Iterator[_Row]:
    """Rows with their probes; what can be seen without asking is noted on the way."""
    for record in records:
        report.rows += 1
        fields = dict(record.fields)
        name = str(fields.get("id") or f"line {record.place}")
        if record.fault is not None:
            report.findings.append(Finding(name, record.place, "refused", record.fault))
            continue
        report.by_source[str(fields.get("source", "-"))] += 1
        report.verifiers[str(fields.get("verifier", "-"))] += 1
        report.findings += prompts.check(fields, name, record.place)
        report.findings += hints(fields, name, record.place)
        reference = fields.get("reference")
        calls = expected_calls(reference) if isinstance(reference, dict) else None
        report.findings += tool_golds(fields, name, record.place, calls)
        if test_set is not None:
            report.findings += test_set.check(fields, name, record.place)
        yield _Row(fields, name, record.place, list(probes(fields, depth)))


async def _asked(client: AsyncClient, rows: Iterator[_Row]) -> AsyncIterator[tuple[_Row, Sequence[Result]]]:
    """Rows with the results of their probes, in order, a few batches under way."""
    pending: deque[asyncio.Task[list[tuple[_Row, Sequence[Result]]]]] = deque()
    more = True
    try:
        while more or pending:
            while more and len(pending) < UNDER_WAY:
                batch = _batch(rows)
                more = bool(batch)
                if batch:
                    pending.append(asyncio.create_task(_ask(client, batch)))
            if pending:
                for answered in await pending.popleft():
                    yield answered
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


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
