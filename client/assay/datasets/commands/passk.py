"""`assay passk RESULTS`: pass@k and maj@k per source."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.errors import Unusable
from assay.cli.escape import one_line
from assay.cli.inputs import open_rows
from assay.datasets.curate.rollouts import group_of
from assay.datasets.passk import Samples, interval

Line = dict[str, Any]


def passk(
    results: Annotated[
        str, typer.Argument(help="A file that `assay score` wrote, several samples a prompt (`group`).")
    ],
    k: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="Repeatable. Default: 1, 2, 4, … up to the samples.")
    ] = None,
    by: Annotated[str, typer.Option(help="The column that names the source.")] = "source",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the table as JSON.")] = None,
) -> None:
    """pass@k (unbiased) and maj@k, with 95 % intervals over prompts."""
    sources = _read(results, by)
    table = [line for name, samples in sorted(sources.items()) for line in _lines(name, samples, k)]
    if not table:
        raise Unusable("no prompt has that many samples with a verdict", source=results)
    _print(table)
    missing = sum(samples.no_verdict for samples in sources.values())
    if missing:
        print(f"{missing} samples without a verdict are left out")
    if json_file is not None:
        json_file.write_text(json.dumps(table, indent=1) + "\n")


def _read(results: str, by: str) -> dict[str, Samples]:
    sources: dict[str, Samples] = defaultdict(Samples)
    with open_rows(results) as rows:
        for row in rows:
            source = row.value(by) if by in row.spans else "all"
            sources[str(source)].add(group_of(row), row.value("result"))
    return sources


def _lines(name: str, samples: Samples, asked: list[int] | None) -> list[Line]:
    sizes = [len(group) for group in samples.groups.values()]
    most = max(sizes, default=0)
    lines = []
    for k in asked or [2**n for n in range(most.bit_length())]:
        if values := samples.pass_at(k):
            votes = samples.majority_at(k)
            lines.append({
                "source": name, "k": k, "prompts": len(values),
                "pass": sum(values) / len(values), "pass_interval": interval(values),
                "maj": sum(votes) / len(votes) if votes else None, "maj_interval": interval(votes) if votes else None,
            })  # fmt: skip
    return lines


def _print(table: list[Line]) -> None:
    print(f"{'source':<24} {'k':>4} {'prompts':>8}  {'pass@k':>7} {'95 %':>15}  {'maj@k':>7} {'95 %':>15}")
    for line in table:
        low, high = line["pass_interval"]
        voted = f"{'-':>7}"
        if line["maj"] is not None:
            maj_low, maj_high = line["maj_interval"]
            voted = f"{line['maj']:>7.3f} {maj_low:>7.3f}-{maj_high:<7.3f}"
        print(
            f"{one_line(line['source'], limit=24):<24} {line['k']:>4} {line['prompts']:>8}  {line['pass']:>7.3f} "
            f"{low:>7.3f}-{high:<7.3f}  {voted}"
        )
