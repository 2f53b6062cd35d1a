"""Reading files of every format: faults reported by line, memory of one record."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.errors import Unusable
from assay.datasets import read
from assay.datasets.records import Record

Write = Callable[..., Path]
TWO = [{"a": 1, "text": "é\U0001f600"}, {"a": 2, "big": 12345678901234567890123}]


def fields(records: list[Record]) -> list[object]:
    return [record.fields if record.fault is None else record.fault for record in records]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_lines_arrays_and_gzip_are_the_same(tmp_path: Path, indent: int | None) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, TWO)) + "\n\n")
    (tmp_path / "b.json").write_text(json.dumps(TWO, indent=indent, ensure_ascii=False), encoding="utf-8-sig")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for name in ("a.jsonl", "b.json", "c.jsonl.gz"):
        assert fields(list(read([tmp_path / name]))) == TWO


def test_a_file_of_one_object_is_one_record(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps(TWO[0], indent=4))
    (tmp_path / "2.json").write_text(json.dumps(TWO[1]))
    assert fields(list(read([tmp_path]))) == TWO


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.Table.from_pylist([{"a": 1}, {"a": 2}]), tmp_path / "t.parquet"
    )
    assert fields(list(read([tmp_path / "t.parquet"]))) == [{"a": 1}, {"a": 2}]


def test_a_malformed_line_is_reported_and_the_rest_read(write: Write) -> None:
    path = write([TWO[0], "{cut", "[1]", "\u00ff" * 3, TWO[1]])
    found = list(read([path]))
    assert [record.place for record in found if record.fault] == [2, 3, 4]
    assert fields(found)[::4] == TWO


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": ', '[{"a": 1} {"a": 2}]', '[{"a": 1}, nonsense]', "[" * 100_000])
def test_a_broken_array_is_reported_with_its_position(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    found = list(read([tmp_path / "x.json"]))
    assert found[-1].fault and len(found) <= 2


def test_a_long_array_is_not_held_in_memory(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("w") as file:
        file.write("[" + ",\n".join(json.dumps({"n": n, "text": "x" * 1000}) for n in range(20_000)) + "]")
    tracemalloc.start()
    total = sum(1 for record in read([tmp_path / "x.json"]) if record.fault is None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 20_000 and peak < 4 << 20


@pytest.mark.parametrize("name", ["absent.jsonl", "absent.parquet", "cut.jsonl.gz", "no.parquet"])
def test_unreadable_files_are_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-20])
    (tmp_path / "no.parquet").write_bytes(b"nonsense")
    with pytest.raises(Unusable, match=name.replace(".", r"\.")):
        list(read([tmp_path / name]))
