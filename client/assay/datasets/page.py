"""A page that stands alone: headings, tables and bar charts as inline SVG, every text escaped, no script, no link.

Control characters and overrides of text direction are shown, as on a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as html_escape

from assay.cli.escape import escape as visible

_STYLE = """
:root{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--bar:#2f6f9f;--paper:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4ae;--line:#30363d;--bar:#5aa0d0;--paper:#0d1117}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
body{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}p,figcaption{color:var(--soft)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
td,th{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
figure{margin:1rem 0}svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}svg rect{fill:var(--bar)}
"""
_ROW, _LABEL, _WIDTH = 22, 230, 760


def text(value: object, *, limit: int = 500) -> str:
    """Any value as text of the page."""
    return html_escape(visible(str(value), limit=limit))


class Page:
    """Sections in order."""

    def __init__(self, title: str, lead: str = "") -> None:
        self._title = title
        self._body = [f"<h1>{text(title)}</h1>", f"<p>{text(lead)}</p>" if lead else ""]

    def heading(self, title: str, note: str = "") -> None:
        """A new section."""
        self._body.append(f"<h2>{text(title)}</h2>" + (f"<p>{text(note)}</p>" if note else ""))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Cells as text."""
        head = "".join(f"<th>{text(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        self._body.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def bars(self, caption: str, values: Sequence[tuple[str, float]], *, form: str = "{:,.0f}") -> None:
        """A horizontal bar for each value."""
        if not values:
            return
        most = max(value for _, value in values) or 1.0
        room = _WIDTH - _LABEL - 90
        lines = [_bar(index, label, value, value / most * room, form) for index, (label, value) in enumerate(values)]
        height = _ROW * len(values) + 4
        picture = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{text(caption)}">{"".join(lines)}</svg>'
        self._body.append(f"<figure>{picture}<figcaption>{text(caption)}</figcaption></figure>")

    def html(self) -> str:
        """The whole page."""
        head = f'<meta charset="utf-8"><title>{text(self._title)}</title><style>{_STYLE}</style>'
        policy = (
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        )
        return f'<!doctype html><html lang="en"><head>{policy}{head}</head><body>{"".join(self._body)}</body></html>\n'


def _bar(index: int, label: str, value: float, width: float, form: str) -> str:
    y = index * _ROW
    return (
        f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{text(label, limit=34)}</text>'
        f'<rect x="{_LABEL}" y="{y + 3}" width="{max(width, 1):.1f}" height="{_ROW - 7}" rx="2"/>'
        f'<text x="{_LABEL + max(width, 1) + 6:.1f}" y="{y + 15}">{text(form.format(value))}</text>'
    )


def histogram(
    values: Sequence[float], *, bins: int = 10, low: float = 0.0, high: float = 1.0
) -> list[tuple[str, float]]:
    """Counts of values in equal bins of [low, high], labelled by their bounds."""
    counts = [0] * bins
    for value in values:
        place = int((value - low) / (high - low) * bins) if high > low else 0
        counts[min(max(place, 0), bins - 1)] += 1
    step = (high - low) / bins
    return [(f"{low + n * step:.2g} to {low + (n + 1) * step:.2g}", float(count)) for n, count in enumerate(counts)]
