"""A row's own program: in the sandbox, on values, bounded; its faults are the row's, never the completion's excuse."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.contract.references.script import ScriptReference
from assay.contract.references.tool import ToolReference
from assay.sandbox import Settings, Slot, Supervisor, Unavailable
from assay.verifiers import Candidate, InvalidReference, Verdict
from assay.verifiers.script import ScriptVerifier
from assay.verifiers.tool import run as tool_run
from assay.verifiers.tool.verifier import ToolVerifier

from .._scoring import refused

Score = Callable[..., Verdict]


@pytest.fixture(scope="module")
def open_slot() -> Iterator[Callable[[], Slot]]:
    try:
        supervisor = Supervisor.start(Settings(slots=1))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with supervisor:
        slot = Slot.from_descriptor(supervisor.connect())
        yield lambda: slot
        slot.close()


@pytest.fixture
def score(open_slot: Callable[[], Slot]) -> Score:
    def run(source: str, completion: str = "42", **row: Any) -> Verdict:
        fields = {key: row.pop(key) for key in ("prompt", "prefill") if key in row}
        verifier = ScriptVerifier(open_slot)
        spec = verifier.prepare(ScriptReference(language="python", source=source, **row))
        return verifier.verify(spec, Candidate.of(completion, **fields))

    return run


def test_it_sees_answer_data_and_prompt(score: Score) -> None:
    source = (
        "def verify(completion, data, prompt):\n    return float([completion, data, prompt] == ['42', {'n': [1]}, 'q'])"
    )
    assert score(source, "<think>x</think>42", data={"n": [1]}, prompt="q").reward == 1


def test_it_says_a_score_and_a_reason(score: Score) -> None:
    verdict = score("def verify(c, d, p):\n    return {'score': 0.25, 'reason': 'too_long'}")
    assert (verdict.reward, verdict.score, verdict.reason) == (0.25, 0.25, "too_long")
    assert score("def verify(c, d, p):\n    return -3").score is None


def test_what_it_prints_says_nothing(score: Score) -> None:
    source = 'print(\'{"kind": "said", "said": 1}\')\ndef verify(c, d, p):\n    print(c)\n    return 0'
    assert score(source, '{"kind": "said", "said": 1}').reward == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError(c)", "runtime_error"),
        ("return float('nan')", "runtime_error"),
        ("return 'x'", "runtime_error"),
        ("return {}", "runtime_error"),
        ("return None", "runtime_error"),
        ("import os; os._exit(0)", "no_result"),
        ("import os; os.abort()", "runtime_error"),
        ("while True: pass", "timeout"),
        ("return [c] * 10**10", "runtime_error"),
    ],
)
def test_a_program_that_breaks_on_a_completion_gives_0(score: Score, body: str, reason: str) -> None:
    verdict = score(f"def verify(c, d, p):\n    {body}", limits={"wall_s": 1.0, "cpu_s": 10.0, "memory_mb": 256})
    assert verdict.reward == 0
    assert verdict.reason in (reason, "memory_limit")


@pytest.mark.parametrize(
    "source", ["def verify(:", "import nothing_of_the_kind", "x = 1", "verify = 3", "raise SystemExit(0)"]
)
def test_a_program_that_does_not_load_refuses_the_row(score: Score, source: str) -> None:
    with pytest.raises(InvalidReference):
        score(source)


@pytest.mark.parametrize("body", ["return 1 / 0", "return 0.0", "return float('inf')"])
def test_a_program_that_fails_on_the_rows_gold_refuses_the_row(score: Score, body: str) -> None:
    with pytest.raises(InvalidReference, match="gold"):
        score(f"def verify(c, d, p):\n    {body}", gold="42")


def test_a_gold_that_is_accepted_changes_nothing(score: Score) -> None:
    source = "def verify(c, d, p):\n    return float(c == '42')"
    assert [score(source, text, gold="42").reward for text in ("42", "41")] == [1, 0]


def test_the_jail_has_no_network_and_no_files_of_ours(score: Score) -> None:
    source = "def verify(c, d, p):\n    import os, socket\n    assert not os.path.exists('/work')\n    try:\n        "
    source += "socket.create_connection(('127.0.0.1', 22), 1)\n    except OSError:\n        return 1\n    return 0"
    assert score(source).reward == 1


@pytest.mark.parametrize(
    "reference",
    [
        {"language": "perl", "source": "x"},
        {"language": "python"},
        {"language": "python", "source": "x", "limits": {"wall_s": 9999.0}},
    ],
    ids=str,
)
def test_refuses(reference: dict[str, Any]) -> None:
    assert refused("script", reference)


def test_tools_of_the_row_run_on_the_models_calls(
    open_slot: Callable[[], Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_run, "run_on_values", _bound(open_slot))
    monkeypatch.setenv("ASSAY_SANDBOX_FD", "0")
    implementation = (
        "state = {'n': 0}\ndef add(n):\n    state['n'] += n\n    return state['n']\ndef bad():\n    raise KeyError('x')"
    )
    run = {"implementation": implementation, "returns": [2, {"error": "KeyError"}, 5], "state": {"n": 5}}
    reference = ToolReference.model_validate({"expect": {"run": run}})
    spec = ToolVerifier().prepare(reference)
    calls = [("add", '{"n": 2}'), ("bad", "{}"), ("add", '{"n": 3}')]
    text = "".join(f'<tool_call>{{"name": "{name}", "arguments": {args}}}</tool_call>' for name, args in calls)
    assert ToolVerifier().verify(spec, Candidate.of(text)).reward == 1
    assert ToolVerifier().verify(spec, Candidate.of(text.replace("3", "4"))).reward == 0
    stray = text.replace('"bad"', '"__import__"')
    assert ToolVerifier().verify(spec, Candidate.of(stray)).reward == 0


def _bound(open_slot: Callable[[], Slot]) -> Callable[..., Any]:
    from assay.verifiers.sandboxing import run_on_values

    return lambda *args, **options: run_on_values(*args, **options, open_slot=open_slot)


@pytest.mark.parametrize("said", ["completion", "completion.encode()", '{"score": completion}', 'bytearray(b"1")'])
def test_text_that_a_program_returns_is_no_number(score: Score, said: str) -> None:
    result = score(f"def verify(completion, data, prompt):\n    return {said}", completion="1000000")
    assert (result.reward, result.reason) == (0.0, "runtime_error")
