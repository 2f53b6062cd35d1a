"""Rows of every format give the same prompts; what cannot be read is refused by one clear line."""

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet
import pytest

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.rollout.data import load_prompts
from assay.trainer_adapter.grpo.rollout.rows import read_rows
from assay.trainer_adapter.grpo.run.config import Data
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import policy_of, run_of

ROWS: list[dict[str, Any]] = [
    {
        "prompt": [{"role": "user", "content": f"{at}+1="}],
        "meta": {"level": at, "tags": ["a", "b"]},
        "answer": str(at + 1),
        "score": at / 2,
        "right": True,
        "missing": None,
    }
    for at in range(3)
]


def json_lines(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "rows.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def saved(rows: list[dict[str, Any]], folder: Path) -> Path:
    datasets.Dataset.from_list(rows).save_to_disk(folder / "saved")
    return folder / "saved"


def splits(rows: list[dict[str, Any]], folder: Path) -> Path:
    some = datasets.Dataset.from_list(rows)
    datasets.DatasetDict(other=some.select([0]), train=some).save_to_disk(folder / "splits")
    return folder / "splits"


FORMATS = [json_lines, parquet, saved, splits]
Write = Callable[[list[dict[str, Any]], Path], Path]


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_gives_the_same_rows(write: Write, tmp_path: Path) -> None:
    assert read_rows(write(ROWS, tmp_path)) == ROWS


@pytest.mark.parametrize("write", [parquet, saved])
def test_values_without_a_json_form_become_text(write: Write, tmp_path: Path) -> None:
    day = datetime.datetime(2026, 12, 1, 8, 30)
    (row,) = read_rows(write([{"when": day, "exact": decimal.Decimal("1.50"), "raw": b"text"}], tmp_path))
    assert row == {"when": "2026-12-01 08:30:00", "exact": "1.50", "raw": "text"}
    json.dumps(row)


@pytest.mark.parametrize("write", [parquet, saved])
def test_members_that_only_other_rows_have_are_absent(write: Write, tmp_path: Path) -> None:
    rows = [{"reference": {"gold": "1"}}, {"reference": {"choices": ["a"]}}]
    assert read_rows(write(rows, tmp_path)) == rows


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("write", [parquet, saved])
def test_a_run_trains_the_same_from_every_format(write: Write, paths: dict[str, str], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in Path(paths["data.train"]).read_text().splitlines()]
    other = {**paths, "data.train": str(write(rows, tmp_path))}
    found = []
    for name, these in {"lines": paths, "other": other}.items():
        Training(run_of(these, "steps=2", "eval.every=0"), tmp_path / name, quiet=True).train()
        lines = read_lines(tmp_path / name / "metrics.jsonl")
        found.append([(line["reward_mean"], line["loss"], line["grad_norm"]) for line in lines])
    assert found[0] == found[1]


def test_messages_of_parquet_are_a_chat(paths: dict[str, str], tmp_path: Path) -> None:
    tokenizer = policy_of(paths).tokenizer
    tokenizer.chat_template = "{% for one in messages %}{{ one.content }}{% endfor %}"
    found = load_prompts(parquet(ROWS, tmp_path), Data(train="none"), tokenizer, seed=0)
    assert [one.text for one in found.prompts] == ["0+1=", "1+1=", "2+1="]
    assert found.prompts[0].messages == [{"role": "user", "content": "0+1="}]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.jsonl", "missing.jsonl: No such file"),
        ("missing.parquet", "missing.parquet: No such file"),
        ("broken.parquet", "broken.parquet: not a readable Parquet file"),
        ("empty", "empty: .*neither"),
        ("splits", "no split 'train'; there are validation, test"),
        ("lines.jsonl", "lines.jsonl: line 2 is not a JSON object"),
        ("bytes.parquet", "bytes.parquet: row 1: a column of bytes that are not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("PAR1 no")
    (tmp_path / "empty").mkdir()
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n[1]\n')
    pyarrow.parquet.write_table(pa.table({"a": [b"\xff\xfe"]}), tmp_path / "bytes.parquet")
    one = datasets.Dataset.from_list([{"a": 1}])
    datasets.DatasetDict(validation=one, test=one).save_to_disk(tmp_path / "splits")
    with pytest.raises(ConfigurationError, match=message):
        read_rows(tmp_path / name)


def test_the_name_of_a_data_set_is_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a network, and without a copy in the cache, the library's own message is shown in one line."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"^nobody/nothing: [^\n]+$"):
        read_rows("nobody/nothing")
