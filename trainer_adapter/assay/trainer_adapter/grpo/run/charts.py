"""Line charts and histograms as inline SVG: no script, no font, nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 560, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 22, 26
COLOURS = ("#2563eb", "#dc2626", "#059669", "#9333ea")
Points = Sequence[tuple[float, float]]


def line_chart(title: str, series: Mapping[str, Points]) -> str:
    """One chart of several series; an empty one says so."""
    points = [point for values in series.values() for point in values]
    if not points:
        return f"<figure><figcaption>{html.escape(title)}: nothing yet</figcaption></figure>"
    x0, x1 = _range([x for x, _ in points])
    y0, y1 = _range([y for _, y in points])

    def at(x: float, y: float) -> str:
        across = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    lines, legend = [], []
    for number, (name, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(at(x, y) for x, y in values)
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>')
        legend.append(f'<tspan fill="{colour}" dx="8">{html.escape(name)}</tspan>')
    return _figure(title, _axes(x0, x1, y0, y1) + "".join(lines), "".join(legend))


def histogram(title: str, counts: Mapping[str, int]) -> str:
    """Bars in the order of their numbers."""
    names = sorted(counts, key=float)
    if not names:
        return f"<figure><figcaption>{html.escape(title)}: nothing yet</figcaption></figure>"
    most = max(counts.values())
    step = (WIDTH - LEFT - RIGHT) / len(names)
    bars = []
    for place, name in enumerate(names):
        high = counts[name] / most * (HEIGHT - TOP - BOTTOM)
        x, y = LEFT + place * step, HEIGHT - BOTTOM - high
        bars.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(step - 2, 1):.1f}" height="{high:.1f}" fill="#2563eb"/>'
        )
        if len(names) <= 12:
            bars.append(_label(x + step / 2, HEIGHT - 8, name, "middle"))
    return _figure(title, "".join(bars) + _label(LEFT - 4, TOP + 8, str(most), "end"), "")


def _figure(title: str, body: str, legend: str) -> str:
    caption = f'<text x="{LEFT}" y="14" class="t">{html.escape(title)}{legend}</text>'
    return f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{caption}{body}</svg></figure>'


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _axes(x0: float, x1: float, y0: float, y1: float) -> str:
    marks = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
        marks.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d4d4d8"/>')
        marks.append(_label(LEFT - 4, y + 4, f"{y0 + share * (y1 - y0):.3g}", "end"))
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        marks.append(_label(x, HEIGHT - 8, f"{x0 + share * (x1 - x0):.0f}", anchor))
    return "".join(marks)


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'
