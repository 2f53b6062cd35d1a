"""Read records of a published dataset's files one at a time: JSON lines, JSON arrays and objects, CSV, Parquet, gzip of
these.

A record that cannot be read is yielded as a fault with its line, and reading continues. Only one record is in memory.
Nothing is unpickled. The values of CSV are text. Not covered: Arrow IPC, archives; files of a hub must be downloaded
first.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from assay.cli.errors import Unusable
from assay.cli.parquet import arrow

LONGEST_RECORD = 256 << 20
"""Bytes."""
SUFFIXES = (
    *(name + packed for name in (".jsonl", ".json", ".csv", ".tsv") for packed in ("", ".gz")),
    ".parquet",
    ".pq",
)
_BATCH_ROWS = 16
_BLOCK = 1 << 16
_SPACE = " \t\r\n"
_NOTHING = object()


class RecordFault(Exception):
    """A record does not belong to its dataset; the message names the field."""


@dataclass(frozen=True)
class Record:
    """One record and its position (from 1: its line, or its number in an array or table)."""

    source: str
    place: int
    fields: Mapping[str, Any]
    fault: str | None = None


def read(paths: Iterable[Path]) -> Iterator[Record]:
    """Yield the records of files, and of all such files below folders, in order of name. Raises `Unusable`."""
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(SUFFIXES))
            if not found:
                raise Unusable(f"no file below it ends with {', '.join(SUFFIXES)}", source=str(path))
            for inner in found:
                yield from _read_file(inner)
        else:
            yield from _read_file(path)


def _read_file(path: Path) -> Iterator[Record]:
    if path.name.endswith((".parquet", ".pq")):
        yield from _read_parquet(path)
        return
    with _opened(path) as stream:
        if path.name.removesuffix(".gz").endswith((".csv", ".tsv")):
            yield from _read_table(stream, path)
            return
        yield from _read_array(stream, str(path)) if _starts_array(stream) else _read_lines(stream, path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unusable(f"not a complete gzip file ({error})", source=str(path)) from None
    except OSError as error:
        raise Unusable(error.strerror or str(error), source=str(path)) from None


def _starts_array(stream: BinaryIO) -> bool:
    start = stream.read(_BLOCK).decode("utf-8-sig", "replace").lstrip()
    stream.seek(0)
    return start.startswith("[")


def _read_lines(stream: BinaryIO, path: Path) -> Iterator[Record]:
    """Yield one record per line; a file with one pretty-printed object is one record."""
    first = True
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_RECORD + 1), b""), 1):
        if len(line) > LONGEST_RECORD:
            raise Unusable(f"longer than {LONGEST_RECORD >> 20} MB", line=number, source=str(path))
        if first and line.strip() == b"{":
            yield parse(line + stream.read(LONGEST_RECORD), str(path), number)
            return
        first = first and not line.strip()
        if line.strip():
            yield parse(line, str(path), number)


def parse(text: bytes | str, source: str, place: int) -> Record:
    """Return the record that `text` is, or its fault."""
    try:
        decoded = text.decode("utf-8-sig" if place == 1 else "utf-8") if isinstance(text, bytes) else text
        fields = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON ({type(error).__name__})"
        return Record(source, place, {}, reason)
    if not isinstance(fields, dict):
        return Record(source, place, {}, "not a JSON object")
    return Record(source, place, fields)


def _read_table(stream: BinaryIO, path: Path) -> Iterator[Record]:
    """Yield one record per row of a table with a header. A row with another number of columns is a fault."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    csv.field_size_limit(LONGEST_RECORD)
    rows = csv.reader(text, delimiter="\t" if ".tsv" in path.name else ",", strict=True)
    try:
        header = next(rows, [])
        for place, row in enumerate(rows, 1):
            fault = None if len(row) == len(header) else f"{len(row)} columns instead of {len(header)}"
            if row:
                yield Record(str(path), place, dict(zip(header, row, strict=False)), fault)
    except csv.Error as error:
        raise Unusable(f"not readable CSV ({error})", line=rows.line_num, source=str(path)) from None
    finally:
        text.detach()


def _read_array(stream: BinaryIO, source: str) -> Iterator[Record]:
    """Yield the members of one array without holding it. A fault ends the file, as nothing marks the next member."""
    text, place, decoder, more = _Window(stream), 0, json.JSONDecoder(), True
    text.skip("[")
    while more and (start := text.peek()) and start != "]":
        place += 1
        member = text.member(decoder)
        if member is _NOTHING:
            yield Record(source, place, {}, "not JSON; the rest of the array cannot be read")
            return
        yield (
            Record(source, place, member)
            if isinstance(member, dict)
            else Record(source, place, {}, "not a JSON object")
        )
        more = text.skip(",")
    if text.peek() != "]":
        yield Record(source, place + 1, {}, "the array is cut off")


class _Window:
    """A moving window over the text of a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        import codecs

        self._stream, self._decode = stream, codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        self._text, self._at, self._ended = "", 0, False

    def _more(self) -> bool:
        block = b"" if self._ended else self._stream.read(_BLOCK)
        self._ended = self._ended or not block
        self._text, self._at = self._text[self._at :] + self._decode(block, self._ended), 0
        return not self._ended

    def peek(self) -> str:
        """Return the next character that is not white space, or an empty string at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self, char: str) -> bool:
        """Skip `char` if it is next, and return whether it was."""
        found = self.peek() == char
        self._at += found
        return found

    def member(self, decoder: json.JSONDecoder) -> Any:
        """Return the next value, or `_NOTHING` if there is none. Reads on until the value is complete."""
        wanted = _BLOCK
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            except RecursionError:
                return _NOTHING
            except ValueError:
                if self._ended:
                    return _NOTHING
            if len(self._text) - self._at > LONGEST_RECORD:
                return _NOTHING
            target = len(self._text) - self._at + wanted
            while len(self._text) - self._at < target and self._more():
                pass
            wanted *= 2


def _read_parquet(path: Path) -> Iterator[Record]:
    pyarrow, place = arrow(), 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for fields in batch.to_pylist():
                    place += 1
                    yield Record(str(path), place, fields)
    except (OSError, pyarrow.ArrowException) as error:
        raise Unusable(f"not a readable Parquet file ({type(error).__name__})", source=str(path)) from None
