"""`assay demo`: score and explain a bundled sample of real completions."""

from __future__ import annotations

import asyncio
import sys
from importlib.resources import as_file, files
from pathlib import Path

from assay.cli.commands.check import agrees
from assay.cli.connect import WINDOW, connect
from assay.cli.explanation import explain
from assay.cli.inputs import open_rows
from assay.cli.options import ServerOption
from assay.cli.pipeline import score_rows
from assay.cli.summary import Summary
from assay.client import AsyncClient

SAMPLE = "gsm8k.jsonl"
PER_OUTCOME = 1
"""Number of verdicts explained per outcome."""
SHOWN = frozenset({"correct", "incorrect", "no_verdict"})


def demo(
    server: ServerOption = None,
) -> None:
    """Score 40 completions of real models on GSM8K, and explain a right and a wrong one."""
    print("40 answers of two real models to GSM8K problems (MIT licence, OpenAI):\n")
    with as_file(files("assay.cli") / "sample" / SAMPLE) as sample:
        asyncio.run(_demo(connect(server or []), sample))


async def _demo(client: AsyncClient, sample: Path) -> None:
    summary, agreed, shown = Summary(), 0, dict.fromkeys(SHOWN, 0)
    with open_rows(str(sample)) as rows:
        every = list(rows)
    async with client:
        async for scored in score_rows(client, every, window=WINDOW, explain={row.id for row in every}):
            scored.count(summary)
            for row in scored.rows:
                result = scored.answers[row.index].fields
                agreed += agrees(row.value("expected"), result)
                outcome = str(result.get("outcome"))
                if shown.get(outcome, PER_OUTCOME) < PER_OUTCOME:
                    shown[outcome] += 1
                    explain(row, result, sys.stdout)
    print()
    summary.print(sys.stdout)
    print(f"\n{agreed} of {len(every)} verdicts agree with the published labels.")
    print("Score your own rows:  assay score ROWS.jsonl -o OUT.jsonl")
