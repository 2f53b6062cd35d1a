"""A file of a million rows through `assay score`: rows per second, CPU per row, peak memory of the client.

`ASSAY_BENCH_ROWS` sets the number (default 1,000,000). The peer, in the same run, reads and writes the same rows with
`json` only and scores nothing: the minimum cost of a file of that size.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench._table import show

ROWS = int(os.environ.get("ASSAY_BENCH_ROWS", "1000000"))
PEER = """
import json, sys
with open(sys.argv[1]) as rows, open(sys.argv[2], "w") as out:
    for line in rows:
        row = json.loads(line)
        row["result"] = {"reward": 1.0}
        out.write(json.dumps(row) + "\\n")
"""


def write(path: Path) -> None:
    """Write rows of about the size of GSM8K's, all different."""
    reference = {"mode": "number", "gold": "18", "extract": "last_number"}
    with path.open("w") as file:
        for n in range(ROWS):
            completion = (
                f"Row {n}. She sells 9 eggs a day at $2 each, " + "so we multiply and add. " * 20 + "That is 18."
            )
            row = {"id": f"r{n}", "verifier": "exact", "completion": completion, "reference": reference}
            file.write(json.dumps(row) + "\n")


def timed(command: list[str]) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds of the process tree, and the largest process's peak memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder, "rows.jsonl"), Path(folder, "out.jsonl")
        write(rows)
        table = []
        for name, command in (
            ("json alone", [sys.executable, "-c", PEER, str(rows), str(out)]),
            ("assay score", [sys.executable, "-m", "assay", "score", str(rows), "-o", str(out)]),
        ):
            out.unlink(missing_ok=True)
            wall, cpu, peak = timed(command)
            with out.open("rb") as file:
                assert sum(1 for _ in file) == ROWS
            table.append([name, ROWS, wall, ROWS / wall, cpu / ROWS * 1e6, peak])
        show(["", "rows", "wall s", "rows/s", "CPU µs/row", "peak MB of a process"], table)
