"""Any value as text of a page: escaped for HTML, control characters and text-direction overrides shown."""

from __future__ import annotations

from html import escape as html_escape

from assay.cli.escape import escape as visible


def text(value: object, *, limit: int = 500) -> str:
    """Return a value as HTML text of at most `limit` characters."""
    return html_escape(visible(str(value), limit=limit))
