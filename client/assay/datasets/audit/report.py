"""The audit's report as JSON and as a page."""

from __future__ import annotations

import json
from typing import Any

from assay.datasets.audit.findings import KINDS, Severity
from assay.datasets.audit.run import Report
from assay.viewer.page import Page

MOST_SHOWN = 200


def as_json(report: Report) -> str:
    """Everything, for programs."""
    fields: dict[str, Any] = {
        "rows": report.rows,
        "probes": report.probes,
        "bad_rows": report.bad,
        "bad_share": report.bad_share,
        "kinds": dict(report.kinds()),
        "verifiers": dict(report.verifiers),
        "sources": dict(report.by_source),
        "findings": [
            {
                "row": f.row,
                "file": f.source,
                "line": f.line,
                "kind": f.kind,
                "severity": f.severity.name.lower(),
                "detail": f.detail,
            }
            for f in report.findings
        ],
    }
    return json.dumps(fields, ensure_ascii=True, indent=1) + "\n"


def as_html(report: Report) -> str:
    """A page for people."""
    bad = report.bad
    page = Page("Audit", f"{report.rows} rows, {report.probes} probes; {bad} rows with errors ({report.bad_share:.2%})")
    page.heading("What was found")
    page.bars("Rows with each finding", [(kind, float(count)) for kind, count in report.kinds()])
    page.table(
        ("finding", "severity", "rows", "meaning"),
        [(kind, KINDS[kind][0].name.lower(), count, KINDS[kind][1]) for kind, count in report.kinds()],
    )
    page.heading("What was audited")
    page.bars("Rows of each verifier", [(name, float(count)) for name, count in report.verifiers.most_common()])
    page.bars("Rows of each source", [(name, float(count)) for name, count in report.by_source.most_common(20)])
    for severity in sorted(Severity, reverse=True):
        found = [finding for finding in report.findings if finding.severity is severity]
        if found:
            more = f" (the first {MOST_SHOWN} of {len(found)})" if len(found) > MOST_SHOWN else ""
            page.heading(severity.name.capitalize() + more)
            page.table(
                ("line", "row", "finding", "detail"),
                [(f.line, f.row, f.kind, f.detail) for f in found[:MOST_SHOWN]],
            )
    return page.html()
