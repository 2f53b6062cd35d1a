"""`assay rows FROM FILES -o ROWS.jsonl`: a published dataset as rows of the contract."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.errors import DIFFERS, OK, Unusable
from assay.cli.escape import one_line
from assay.cli.files import STREAM, open_output
from assay.datasets.adapters import ADAPTERS, Options, convert, find
from assay.datasets.adapters.gym import generated
from assay.datasets.records import Record, read

AHEAD = 10_000
"""How many answers may be read beyond the one that is looked for."""
_SHOWN = 20


def rows(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The dataset's shape, or auto; `list` names them.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Files or folders: .jsonl, .json, .parquet, .gz (reasoning_gym: names).")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="JSONL file; - for standard output.")] = STREAM,
    answers: Annotated[
        Path | None, typer.Option(help="BFCL: the accepted answers, in the order of the questions.")
    ] = None,
    verifier: Annotated[str | None, typer.Option(help="A verifier of your choice.")] = None,
    reference: Annotated[
        str | None, typer.Option(help='Its reference, as JSON over columns: {"answer": "{gold}"}')
    ] = None,
    syntax: Annotated[str, typer.Option(help="BFCL: the syntax of calls.")] = "auto",
    base_model: Annotated[bool, typer.Option("--base-model", help="Completions go on where the prompt ends.")] = False,
    size: Annotated[int, typer.Option(min=1, help="reasoning_gym: entries of each dataset.")] = 100,
    seed: Annotated[int, typer.Option(help="reasoning_gym: where its generator starts.")] = 0,
) -> None:
    """Turn a published dataset into rows. A record at fault is named by file and line, and the rest goes on.

    Exit code 1 if any record was left out.
    """
    if source == "list":
        for name, known_shape in ADAPTERS.items():
            print(f"{name:<16} {known_shape.summary}")
        raise typer.Exit(OK)
    adapter = None if source == "auto" else find(source)
    with Answers(answers) as known:
        options = Options(
            verifier=verifier, reference=_template(reference), answer=known.of, syntax=syntax, base_model=base_model
        )
        faults = Faults()
        written = _write(convert(_records(source, files or [], size, seed), adapter, options, faults.add), output)
    faults.print(written)
    raise typer.Exit(DIFFERS if faults.count else OK)


def _records(source: str, files: list[str], size: int, seed: int) -> Iterator[Record]:
    if source.replace("-", "_") == "reasoning_gym":
        return generated(files, size=size, seed=seed)
    if not files:
        raise Unusable("name the files of the dataset")
    return read(map(Path, files))


def _template(text: str | None) -> Any:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Unusable("--reference is a JSON object")
    return value


def _write(rows: Iterator[dict[str, Any]], output: str) -> int:
    count = 0
    with open_output(output) as stream:
        for row in rows:
            stream.write(json.dumps(row, allow_nan=False).encode() + b"\n")
            count += 1
    return count


class Faults:
    """Records that were left out: the first of them named, all counted."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, record: Record, why: str) -> None:
        """Name one."""
        self.count += 1
        if self.count <= _SHOWN:
            print(f"assay: {record.source}:{record.place}: {one_line(why)}", file=sys.stderr)

    def print(self, written: int) -> None:
        """Say how it ended."""
        more = f" ({self.count - _SHOWN} more not shown)" if self.count > _SHOWN else ""
        print(f"assay: {written} rows, {self.count} records left out{more}", file=sys.stderr)


class Answers:
    """Accepted answers of a second file, read along with the questions and never held whole."""

    def __init__(self, path: Path | None) -> None:
        self._records = read([path]) if path else iter(())
        self._ahead: dict[str, Any] = {}

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        close: Callable[[], None] | None = getattr(self._records, "close", None)
        if close is not None:
            close()

    def of(self, name: str) -> Any:
        """Return the answer of that id, or None if it is not among the next `AHEAD`."""
        while name not in self._ahead and len(self._ahead) < AHEAD:
            record = next(self._records, None)
            if record is None:
                return None
            if record.fault is None:
                self._ahead[str(record.fields.get("id"))] = record.fields.get("ground_truth")
        return self._ahead.pop(name, None)
