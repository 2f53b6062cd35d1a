"""A small table, right-aligned."""

from collections.abc import Sequence


def show(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows of cells; floats with three significant digits."""
    cells = [list(header), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))))


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
