"""A page that stands alone: headings, tables and charts, every text escaped, no script, no link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.viewer.charts import Points, bar_chart, column_chart, line_chart
from assay.viewer.text import text

_STYLE = """
:root{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--bar:#2f6f9f;--paper:#fff;--alarm:#fee2e2}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4ae;--line:#30363d;--bar:#5aa0d0;--paper:#0d1117;
--alarm:#5b1a1a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
body{max-width:74rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}p,figcaption{color:var(--soft)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
td,th{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}.alarm{background:var(--alarm);padding:.6rem 1rem}
figure{display:inline-block;margin:4px;width:560px;max-width:100%}figure.wide{display:block;width:100%}
svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}svg .bar{fill:var(--bar)}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LONGEST_PRE = 20_000


class Preformatted(str):
    """Text of a table cell that keeps its line breaks."""


class Page:
    """Sections in order."""

    def __init__(self, title: str, lead: str = "") -> None:
        self._title = title
        self._body = [f"<h1>{text(title)}</h1>", f"<p>{text(lead, limit=2000)}</p>" if lead else ""]

    def heading(self, title: str, note: str = "") -> None:
        """Begin a section."""
        self._body.append(f"<h2>{text(title)}</h2>" + (f"<p>{text(note)}</p>" if note else ""))

    def alarm(self, message: str) -> None:
        """Add a highlighted paragraph."""
        self._body.append(f'<p class="alarm">{text(message)}</p>')

    def preformatted(self, content: str) -> None:
        """Add a text that keeps its line breaks."""
        self._body.append(_cell(Preformatted(content)))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table; cells become text, `Preformatted` ones keep their line breaks."""
        head = "".join(f"<th>{text(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        self._body.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def bars(self, caption: str, values: Sequence[tuple[str, float]], *, form: str = "{:,.0f}") -> None:
        """Add a horizontal bar for each value."""
        self._body.append(bar_chart(caption, values, form=form))

    def lines(self, title: str, series: Mapping[str, Points]) -> None:
        """Add a line chart."""
        self._body.append(line_chart(title, series))

    def columns(self, title: str, counts: Mapping[str, int]) -> None:
        """Add a column chart."""
        self._body.append(column_chart(title, counts))

    def html(self) -> str:
        """Return the whole page."""
        policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        head = f'<meta charset="utf-8">{policy}<title>{text(self._title)}</title><style>{_STYLE}</style>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(self._body)}</body></html>\n'


def _cell(value: object) -> str:
    if isinstance(value, Preformatted):
        return f"<pre>{text(value, limit=_LONGEST_PRE)}</pre>"
    return text(value)
