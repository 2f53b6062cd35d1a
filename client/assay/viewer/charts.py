"""Line charts, column charts and bar charts as inline SVG, every text escaped.

Points are (x, y) pairs of floats; sizes are SVG units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.viewer.text import text as escaped

WIDTH, HEIGHT = 560, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 22, 26
BAR_ROW, BAR_LABEL, BAR_WIDTH = 22, 230, 760
COLOURS = ("#2563eb", "#dc2626", "#059669", "#9333ea")
Points = Sequence[tuple[float, float]]


def line_chart(title: str, series: Mapping[str, Points]) -> str:
    """Return one chart of several series of points; a chart without points says so."""
    points = [point for values in series.values() for point in values]
    if not points:
        return f"<figure><figcaption>{escaped(title)}: nothing yet</figcaption></figure>"
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
        legend.append(f'<tspan fill="{colour}" dx="8">{escaped(name)}</tspan>')
    return _figure(title, _axes(x0, x1, y0, y1) + "".join(lines), "".join(legend))


def column_chart(title: str, counts: Mapping[str, int]) -> str:
    """Return one column per count, in the order of the numbers that name them."""
    names = sorted(counts, key=float)
    if not names:
        return f"<figure><figcaption>{escaped(title)}: nothing yet</figcaption></figure>"
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
    caption = f'<text x="{LEFT}" y="14" class="t">{escaped(title)}{legend}</text>'
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


def bar_chart(caption: str, values: Sequence[tuple[str, float]], *, form: str = "{:,.0f}") -> str:
    """Return a horizontal bar for each (label, value), the value written with `form`; nothing for no values."""
    if not values:
        return ""
    most = max(value for _, value in values) or 1.0
    room = BAR_WIDTH - BAR_LABEL - 90
    bars = [_bar(index, label, value, value / most * room, form) for index, (label, value) in enumerate(values)]
    height, name = BAR_ROW * len(values) + 4, escaped(caption)
    picture = f'<svg viewBox="0 0 {BAR_WIDTH} {height}" role="img" aria-label="{name}">{"".join(bars)}</svg>'
    return f'<figure class="wide">{picture}<figcaption>{name}</figcaption></figure>'


def _bar(index: int, label: str, value: float, width: float, form: str) -> str:
    y = index * BAR_ROW
    return (
        f'<text x="{BAR_LABEL - 8}" y="{y + 15}" text-anchor="end">{escaped(label, limit=34)}</text>'
        f'<rect class="bar" x="{BAR_LABEL}" y="{y + 3}" width="{max(width, 1):.1f}" height="{BAR_ROW - 7}" rx="2"/>'
        f'<text x="{BAR_LABEL + max(width, 1) + 6:.1f}" y="{y + 15}">{escaped(form.format(value))}</text>'
    )


def histogram(
    values: Sequence[float], *, bins: int = 10, low: float = 0.0, high: float = 1.0
) -> list[tuple[str, float]]:
    """Return the counts of values in equal bins of [low, high], labelled by their bounds, for `bar_chart`."""
    counts = [0] * bins
    for value in values:
        place = int((value - low) / (high - low) * bins) if high > low else 0
        counts[min(max(place, 0), bins - 1)] += 1
    step = (high - low) / bins
    return [(f"{low + n * step:.2g} to {low + (n + 1) * step:.2g}", float(count)) for n, count in enumerate(counts)]


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'
