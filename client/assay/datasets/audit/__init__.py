"""Audit: find faults of a dataset by scoring probes of its rows (see `findings.KINDS`)."""

from assay.datasets.audit.findings import KINDS, Finding, Severity
from assay.datasets.audit.probes import Depth
from assay.datasets.audit.report import as_html, as_json
from assay.datasets.audit.run import Report, audit
from assay.datasets.audit.texts import TestSet

__all__ = ["KINDS", "Depth", "Finding", "Report", "Severity", "TestSet", "as_html", "as_json", "audit"]
