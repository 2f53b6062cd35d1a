"""`assay adapt`, OpenRLHF's file, and the code blocks of docs/trainers.md, run unchanged."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomllib
from hypothesis import given
from hypothesis import strategies as st

from assay.client import Client, ConfigurationError, MemoryTransport, ServiceUnavailable
from assay.client.templates import MissingColumn
from assay.service.settings import Settings
from assay.trainer_adapter.adapt import TRAINERS, URL, _hydra, _python, _toml, lines
from assay.trainer_adapter.missing import Stopped
from assay.trainer_adapter.openrlhf import make_reward_func

from .conftest import Served

PAGE = (Path(__file__).parents[2] / "docs/trainers.md").read_text()
WIRES = (Path(__file__).parents[2] / "docs/compat.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


CALLS = {
    "reward": lambda f: f(prompts=["p"] * 2, completions=[r"\boxed{4}", r"\boxed{5}"], answer=["4", "4"]),
    "reward_func": lambda f: f(["<s>2+2? \\boxed{4}</s>", "2+2? 5"], ["2+2? "] * 2, ["4", "4"])["rewards"],
    "compute_score": lambda f: [
        __import__("asyncio").run(f("d", said, "4", {}))["score"] for said in (r"\boxed{4}", "5")
    ],
}


@pytest.mark.parametrize("code", blocks(PAGE, "python"))
def test_a_snippet_of_the_page_scores(served: Served, code: str) -> None:
    names: dict[str, Any] = {}
    exec(code.replace(URL, served.url), names)
    (call,) = [CALLS[name](names[name]) for name in CALLS if name in names]
    assert list(call) == [1.0, 0.0]


@pytest.mark.parametrize("page", [PAGE, WIRES])
def test_a_toml_block_of_the_page_is_a_valid_setting(page: str) -> None:
    for text in blocks(page, "toml"):
        wires = tomllib.loads(text)["wires"]
        assert Settings(wires=wires).wires.model_dump(exclude_none=True).keys() == wires.keys()


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_page_contains_the_output_of_adapt(trainer: str) -> None:
    columns = {"nemo-gym": ("question", "expected_answer")}.get(trainer, ("question", "answer"))
    assert lines(trainer, columns=columns) in PAGE


def test_the_command_prints_the_lines() -> None:
    command = [sys.executable, "-m", "assay", "adapt", "trl", "--columns", "question, solution", "--url", "embedded:"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'AssayReward("math", {"answer": "{solution}"}, url="embedded:")' in out


PIECES = st.text(alphabet="\"'\\\\{}$#=\n\r\t\x00\x7f\u2028\u202e\U0001f600\u6570 a.:,", max_size=8)
VALUES = PIECES | st.integers() | st.booleans() | st.lists(PIECES, max_size=2)
REFERENCES = st.dictionaries(PIECES, VALUES | st.dictionaries(PIECES, VALUES, max_size=2), max_size=3)


@given(REFERENCES)
def test_the_output_of_adapt_reads_back_unchanged(reference: dict[str, Any]) -> None:
    printed = _python(reference)
    assert ast.literal_eval(printed) == reference
    assert tomllib.loads(f"reference = {_toml(reference)}")["reference"] == reference
    assert "\n" not in printed + _toml(reference) and "\u202e" not in printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a", '"a"'),
        ('a"b', r'"a\"b"'),
        ("a\\", r'"a\\"'),
        (r"\"", r'"\\\""'),
        ("${answer}$", r'"\${answer}$"'),
        (r"\frac", r'"\frac"'),
        ("\\\n", '"\\\n"'),
    ],
)
def test_hydras_grammar_and_its_interpolations_are_escaped(text: str, printed: str) -> None:
    assert _hydra(text) == printed  # as Hydra 1.3 and OmegaConf 2.3 read them back


@pytest.mark.parametrize(
    ("trainer", "options"),
    [
        ("verl", {"reference": '{"a b": 1}'}),
        ("verl", {"reference": '{"null": 1}'}),
        ("slime", {"reference": '{"a": null}'}),
        ("slime", {"url": "http://x\nverifier = 1"}),
        ("trl", {"reference": '{"a": NaN}'}),
        ("trl", {"reference": '{"a": 1e999}'}),
        ("trl", {"reference": '{"a": 1, "a": 2}'}),
        ("trl", {"verifier": "a\ud800"}),
        ("trl", {"reference": "[" * 9999}),
    ],
)
def test_values_that_the_format_cannot_express_are_refused(trainer: str, options: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        lines(trainer, **options)  # type: ignore[arg-type]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(MissingColumn, match="columns are: a, b"):
        lines("trl", columns=("a", "b"), reference='{"answer": "{c}"}')
    with pytest.raises(ConfigurationError, match="which column"):
        lines("trl", columns=("a", "b"))
    with pytest.raises(ConfigurationError, match="unknown trainer"):
        lines("nanochat")


def test_templates_inside_columns_are_accepted() -> None:
    assert "{meta.tests.0}" in lines("trl", columns=("meta",), reference='{"tests": "{meta.tests.0}"}')


def equal(item: dict[str, Any]) -> Any:
    return None if item["completion"] == "?" else float(item["completion"] == item["reference"]["answer"])


def test_openrlhfs_file_answers_like_the_compat_protocol() -> None:
    reward_func = make_reward_func("m", {"answer": "{label}"}, url=Client(transport=MemoryTransport(equal)))
    told = reward_func(["<s>p4</s>", "p5<pad>", "p?"], ["p", "p", "p"], ["4", "4", "4"])
    assert (told["rewards"], told["scores"]) == ([1.0, 0.0, 0.5], [1.0, 0.0, 0.5])
    assert told["extra_logs"] == {"assay_graded": pytest.approx(2 / 3), "assay_row_fault": pytest.approx(1 / 3)}


def test_openrlhfs_file_raises_an_outage_rather_than_answer_0() -> None:
    """OpenRLHF catches `Exception` around the call, so the error is none."""
    assert not issubclass(Stopped, Exception)

    def down(item: dict[str, Any]) -> Any:
        raise ServiceUnavailable("gone")

    client = Client(transport=MemoryTransport(down), tries=1)
    with pytest.raises(Stopped, match="1 of 1 completions have no verdict"):
        make_reward_func("m", {"answer": "{label}"}, url=client, deadline_s=0.2)(["p4"], ["p"], ["4"])
