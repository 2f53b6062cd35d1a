"""`assay check`, `verifiers`, `demo`, and the root of the command line."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from assay.cli import frame as _frame
from assay.cli.columns import near_miss, within
from assay.cli.commands.check import agrees
from assay.cli.escape import escape, one_line
from assay.cli.summary import Quantiles
from assay.contract.item import ITEM_FIELDS

from ._cli import Ran, row, write
from ._service import Running

Assay = Callable[..., Ran]
NO_GOLD = {"mode": "number", "gold": "", "extract": "whole"}


def test_check_passes_if_all_rows_agree(assay: Assay, service: Running) -> None:
    rows = [row(expected=1), row("", expected=0.0000001), row(reference=NO_GOLD, expected="refused"), row("unlabelled")]
    write("cases.jsonl", rows)
    ran = assay("check", "cases.jsonl", "--server", service.url)
    assert (ran.code, ran.out) == (0, "3/3\n")


def test_check_prints_rows_that_differ_and_the_share_last(assay: Assay, service: Running) -> None:
    write("cases.jsonl", [row(expected=1)] * 3 + [row("#### 8", id="odd", expected=1)])
    ran = assay("check", "cases.jsonl", "--server", service.url)
    assert ran.code == 1 and ran.out.splitlines()[-1] == "3/4"
    assert ran.out.startswith("odd: expected 1, got 0.0 (unequal") and len(ran.out.splitlines()) == 2
    assert assay("check", "cases.jsonl", "--min", "0.75", "--server", service.url).code == 0
    assert assay("check", "cases.jsonl", "--min", "0.76", "--server", service.url).code == 1


@pytest.mark.parametrize("rows", [[row()], [row(expected="right")], [row(expected=True)], [row(expected=[])]])
def test_check_without_expected_rows_fails(assay: Assay, service: Running, rows: list[Any]) -> None:
    write("cases.jsonl", rows)
    assert assay("check", "cases.jsonl", "--server", service.url).code == 2


REFUSED = {"reward": None, "error": {"code": "invalid_reference"}}
LOST = {"reward": None, "error": {"code": "worker_lost"}}


@pytest.mark.parametrize(
    ("expected", "result", "right"),
    [
        (1, {"reward": 1.0000001}, True),
        (1, {"reward": 0.99999}, False),
        (0, LOST, False),
        (None, LOST, True),
        (None, REFUSED, True),
        (None, {"reward": 0}, False),
        ("refused", REFUSED, True),
        ("refused", LOST, False),
        ("refused", {"reward": 0}, False),
        ([0, "refused"], REFUSED, True),
        ([0, 0.5], {"reward": 0.5}, True),
        ([0, 1], LOST, False),
    ],
)
def test_agreement(expected: Any, result: dict[str, Any], right: bool) -> None:
    assert agrees(expected, result) == right


def test_verifiers_are_listed(assay: Assay, service: Running) -> None:
    assert "exact@1" in assay("verifiers", "--server", service.url).out
    assert json.loads(assay("verifiers", "--json", "--server", service.url).out)[0]["name"] == "exact"
    assert assay("verifiers", "exact", "--server", service.url).out.strip() == "{}"
    assert assay("verifiers", "none", "--server", service.url).code == 1


def test_the_demo_agrees_with_its_labels(assay: Assay, service: Running) -> None:
    ran = assay("demo", "--server", service.url)
    assert ran.code == 0 and "40 of 40 verdicts agree" in ran.out and ran.out.count("──") == 2


def test_help_names_every_command_and_imports_none() -> None:
    code = (
        "import sys\nsys.argv = ['assay', '--help']\nfrom assay.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "loaded = {'httpx', 'pyarrow', 'fastapi', 'assay.service', 'assay.cli.commands.score'}\n"
        "loaded &= set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert all(name in ran.stdout for name in ("score", "check", "verifiers", "demo", "serve"))


def test_a_missing_extra_says_what_to_install(assay: Assay, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("serve", "assay.no_such_module:serve", _frame.GROUP)
    monkeypatch.setattr(_frame, "entry_points", lambda group: [entry])
    monkeypatch.setattr(_frame.app, "registered_callback", _frame.app.registered_callback)
    ran = assay("serve")
    assert ran.code == 2 and "assay[service]" in ran.err


def test_an_unknown_command_is_a_usage_error(assay: Assay) -> None:
    ran = assay("scroe")
    assert ran.code == 2 and "score" in ran.err


@pytest.mark.parametrize("field", ITEM_FIELDS)
def test_a_field_is_a_near_miss_of_itself_only(field: str) -> None:
    assert near_miss(field) is not None
    assert near_miss(field.upper() + "S") is not None


@pytest.mark.parametrize(
    "name", ["expected", "kind", "why", "source", "answer", "question", "level", "idx", "stop", "prefix", "x", ""]
)
def test_other_columns_are_accepted(name: str) -> None:
    assert near_miss(name) is None


@pytest.mark.parametrize(
    ("left", "right", "room", "near"),
    [
        ("abcd", "abdc", 1, True),
        ("abcd", "abc", 1, True),
        ("abcd", "abxd", 1, True),
        ("abcd", "axxd", 1, False),
        ("abcd", "abcdef", 1, False),
        ("abcd", "badc", 2, True),
    ],
)
def test_edit_distance(left: str, right: str, room: int, near: bool) -> None:
    assert within(left, right, room) == near


def test_control_characters_are_escaped() -> None:
    assert escape("a\x1b]0;x\x07\n\u202eb\r") == "a\\x1b]0;x\\x07\n\\u202eb\\x0d"
    assert one_line("a\nb") == "a\\nb" and len(one_line("x" * 999)) == 201


def test_quantiles_are_within_a_twentieth() -> None:
    quantiles = Quantiles()
    for value in range(1, 1001):
        quantiles.add(value)
    assert quantiles.at(0.5) == pytest.approx(500, rel=0.05)
    assert quantiles.at(0.95) == pytest.approx(950, rel=0.05)
    assert Quantiles().at(0.5) is None


def test_explain_prints_the_reason(assay: Assay, service: Running) -> None:
    reference = json.dumps(row()["reference"])
    ran = assay("explain", "exact", "so\n#### 7", "--reference", reference, "--server", service.url)
    assert ran.code == 0 and "reward 1" in ran.out and "⟦7⟧" in ran.out


@pytest.mark.parametrize("reference", ["{", "[]", "@nowhere.json"])
def test_explain_names_an_unusable_reference(assay: Assay, service: Running, reference: str) -> None:
    ran = assay("explain", "exact", "7", "--reference", reference, "--server", service.url)
    assert ran.code == 2 and ran.err.startswith("assay: ")
