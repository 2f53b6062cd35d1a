"""Commands after a run: diff and rescore, pass@k, curation."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli import main
from assay.datasets.changes import Changes
from assay.datasets.passk import interval, majority_at_k, pass_at_k

from .conftest import SHARED

Write = Callable[..., Path]


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def command(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["assay", *map(str, arguments)])
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
        said = capsys.readouterr()
        return code, said.out + said.err

    return command


def result(reward: float | None, **more: Any) -> dict[str, Any]:
    outcome = "no_verdict" if reward is None else "correct" if reward == 1 else "incorrect"
    return {
        "id": "x",
        "reward": reward,
        "score": reward,
        "outcome": outcome,
        "reason": "equal" if reward else "unequal",
        "verifier": "exact@1",
        **more,
    }


def rollout(group: str, reward: float | None, text: str = "It is 4.", **more: Any) -> dict[str, Any]:
    fields = {"id": f"{group}-{text}", "group": group, "verifier": "exact", "prompt": f"{group}?", "completion": text}
    reference = {"mode": "number", "gold": "4", "extract": "last_number"}
    verdict = more.pop("verdict", {})
    return {**fields, "reference": reference, **more, "result": result(reward, **verdict)}


# --- diff and rescore ---


def test_diff_groups_what_changed(write: Write, assay: Callable[..., tuple[int, str]]) -> None:
    before = write([rollout("a", 1.0), rollout("b", 0.0), rollout("c", None)], "a.jsonl")
    after = write([rollout("a", 0.0), rollout("b", 0.0), rollout("c", 1.0)], "b.jsonl")
    assert assay("diff", before, before)[0] == 0
    code, said = assay("diff", before, after)
    assert code == 1 and "3 verdicts compared: 2 changed" in said and "correct (equal) → incorrect (unequal)" in said


def test_diff_of_different_rows_is_refused(write: Write, assay: Callable[..., tuple[int, str]]) -> None:
    code, said = assay("diff", write([rollout("a", 1.0)], "a.jsonl"), write([rollout("b", 1.0)], "b.jsonl"))
    assert code == 2 and "different rows" in said


def test_a_change_under_an_equal_key_is_reported_as_unstable() -> None:
    changes = Changes()
    changes.add("a", result(1.0, item_key="k"), result(0.0, item_key="k"))
    changes.add("b", result(1.0, item_key="k"), result(0.0, item_key="l"))
    assert (changes.changed, changes.unstable) == (2, 1)


def test_rescore_reports_verdicts_that_changed(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    old = write([rollout("a", 1.0, "It is 4."), rollout("b", 1.0, "It is 5."), rollout("c", 0.0, "It is 4.")])
    code, said = assay("rescore", old, "-o", tmp_path / "new.jsonl", "--quiet", "--json", tmp_path / "r.json")
    fields = json.loads((tmp_path / "r.json").read_text())
    assert (code, fields["compared"], fields["changed"]) == (1, 3, 2), said
    assert [json.loads(line)["result"]["reward"] for line in (tmp_path / "new.jsonl").read_text().splitlines()] == [
        1.0,
        0.0,
        1.0,
    ]
    assert assay("diff", old, tmp_path / "new.jsonl")[0] == 1
    assert assay("rescore", tmp_path / "new.jsonl", "--quiet")[0] == 0


def test_one_verdict_is_replayed_and_explained(write: Write, assay: Callable[..., tuple[int, str]]) -> None:
    old = write([rollout("a", 1.0), rollout("b", 1.0, "It is 5.")])
    code, said = assay("rescore", old, "--id", "b-It is 5.")
    assert code == 1 and "differs from every gold" in said and "1 verdicts compared: 1 changed" in said
    assert assay("rescore", old, "--id", "zzz")[0] == 2


def test_slim_results_cannot_be_rescored(write: Write, assay: Callable[..., tuple[int, str]]) -> None:
    code, said = assay("rescore", write([{"id": "a", "result": result(1.0)}]))
    assert code == 2 and "--slim" in said


# --- pass@k ---


@given(st.integers(1, 8), st.data())
def test_pass_at_k_equals_the_share_of_draws_with_a_correct_sample(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert math.isclose(pass_at_k(n, c, k), sum(map(any, draws)) / len(draws))


def test_a_vote_is_right_if_its_winner_is() -> None:
    samples = [("4", True), ("4", True), ("5", False), ("", False)]
    assert majority_at_k(samples, 1) == 0.5
    assert majority_at_k(samples, 4) == 1.0
    assert majority_at_k([("5", False), ("4", True)], 2) == 0.5
    assert majority_at_k([("", False)] * 3, 2) == 0.0
    assert majority_at_k([("4", True)] * 20 + [("5", False)] * 20, 9) == 0.5


@given(st.lists(st.sampled_from(["right", "a", "b", "c", ""]), min_size=1, max_size=9), st.data())
def test_maj_at_k_equals_the_mean_over_all_draws(answers: list[str], data: st.DataObject) -> None:
    samples = [(answer, answer == "right") for answer in answers]
    k = data.draw(st.integers(1, len(samples)))
    votes = []
    for chosen in itertools.combinations(answers, k):
        counts = Counter(answer for answer in chosen if answer)
        winners = [answer for answer in counts if counts[answer] == max(counts.values())]
        votes.append(winners.count("right") / len(winners) if winners else 0.0)
    assert majority_at_k(samples, k) == pytest.approx(sum(votes) / len(votes))


def test_maj_at_k_of_many_samples_is_exact_and_quick() -> None:
    samples = [("right", True)] * 300 + [(str(n % 171), False) for n in range(700)] + [("", False)] * 24
    started = time.process_time()
    assert 0.99 < majority_at_k(samples, 64) <= 1
    assert time.process_time() - started < 10


def test_intervals_cover_the_mean_and_shrink() -> None:
    few, many = interval([0.0, 1.0] * 10), interval([0.0, 1.0] * 1000)
    assert few[0] < 0.5 < few[1] and few[1] - few[0] > 3 * (many[1] - many[0])


def test_samples_without_a_verdict_are_excluded_and_counted(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [
        rollout("a", 1.0, "It is 4."),
        rollout("a", 0.0, "5"),
        rollout("a", None, "6"),
        rollout("b", 0.0, "7"),
        rollout("b", 0.0, "8"),
    ]
    code, said = assay("passk", write(rows), "-k", 1, "-k", 2, "--json", tmp_path / "t.json")
    first, second = json.loads((tmp_path / "t.json").read_text())
    assert code == 0 and "1 samples without a verdict" in said
    assert (first["pass"], second["pass"], second["prompts"]) == (0.25, 0.5, 2)


def test_correct_answers_count_as_one_answer_in_the_vote(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    samples = [("1/2", 1.0), ("0.5", 1.0), ("3", 0.0), ("3", 0.0), ("50%", 1.0)]
    rows = [rollout("a", reward, text, verdict={"extracted": text}) for text, reward in samples]
    assert assay("passk", write(rows), "-k", 5, "--json", tmp_path / "t.json")[0] == 0
    assert json.loads((tmp_path / "t.json").read_text())[0]["maj"] == 1.0


def test_without_answers_there_is_no_vote(write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, said = assay(
        "passk", write([rollout("a", 1.0), rollout("a", 0.0, "x")]), "-k", 1, "--json", tmp_path / "t.json"
    )
    assert code == 0 and json.loads((tmp_path / "t.json").read_text())[0]["maj"] is None and "-" in said


def test_groups_may_be_numbers_and_shaped_rewards_count(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [{**rollout("a", 1.0, str(n)), "group": 7} for n in range(4)]
    rows[0]["result"]["score"] = None
    assert assay("passk", write(rows), "-k", 4, "--json", tmp_path / "t.json")[0] == 0
    (line,) = json.loads((tmp_path / "t.json").read_text())
    assert (line["prompts"], line["pass"]) == (1, 1.0)


@pytest.mark.parametrize("command", ["passk", "diff", "rescore", "curate"])
def test_null_results_are_no_verdict(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path, command: str
) -> None:
    path = write([{**rollout("a", 1.0), "result": "oops"}, rollout("b", 1.0)])
    more = {"diff": [path], "curate": ["--sft", tmp_path / "s.jsonl"], "rescore": ["--quiet"]}.get(command, [])
    assert assay(command, path, *more)[0] in (0, 1)


# --- curate ---


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared here")
def test_exactly_the_correct_solutions_of_gsm8k_are_kept(assay: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    source = SHARED / "data/gsm8k_solutions.jsonl"
    assert assay("score", source, "-o", tmp_path / "scored.jsonl", "--quiet")[0] == 0
    assert assay("curate", tmp_path / "scored.jsonl", "--sft", tmp_path / "sft.jsonl")[0] == 0
    right = [row["completion"] for row in lines(source) if row["expected"] == 1]
    assert sorted(line["completion"][0]["content"] for line in lines(tmp_path / "sft.jsonl")) == sorted(right)


def test_unsuitable_samples_are_dropped_and_counted(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [
        rollout("a", 1.0, "It is 4."),
        rollout("a", 1.0, "It  is 4."),
        rollout("a", 0.0, "It is 5."),
        rollout("a", None, "?"),
        rollout("b", 1.0, "cut 4", truncated=True),
        rollout("b", 1.0, "spam 4", verdict={"flags": ["answer_spam"]}),
        rollout("b", 1.0, "word " * 50 + "4"),
        rollout("b", 1.0, "So, 4"),
        rollout("c", 1.0, "So, 4"),
        rollout("d", 0.0, "So, 9"),
    ]
    report = tmp_path / "r.json"
    code, said = assay(
        "curate", write(rows), "--sft", tmp_path / "s.jsonl", "--band", "0.1:0.99", "--max-length", 20, "--json", report
    )
    said_by = [line["completion"][0]["content"] for line in lines(tmp_path / "s.jsonl")]
    assert code == 0 and said_by == ["It is 4.", "So, 4", "So, 4"], said
    assert json.loads(report.read_text())["dropped"] == {
        "no verdict": 1,
        "said already": 1,
        "not right": 2,
        "cut off": 1,
        "flagged": 1,
        "too long": 1,
    }


def test_the_band_chooses_prompts_for_rl_and_no_others(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [rollout("easy", 1.0, "4"), rollout("mid", 0.0, "5"), rollout("mid", 1.0, "4"), rollout("hard", 0.0, "7")]
    sft, rl = tmp_path / "s.jsonl", tmp_path / "r.jsonl"
    assert assay("curate", write(rows), "--sft", sft, "--rl", rl, "--band", "0.1:0.9")[0] == 0
    assert [line["prompt"][0]["content"] for line in lines(sft)] == ["easy?", "mid?"]
    assert [line["prompt"][0]["content"] for line in lines(rl)] == ["mid?"]


def test_the_best_are_chosen_by_reward_then_length(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [rollout("a", 1.0, text) for text in ("a b c 4", "4", "b 4")]
    rows[0]["result"]["reward"] = 1.5
    assert assay("curate", write(rows), "--sft", tmp_path / "s.jsonl", "--best", 2)[0] == 0
    assert [line["completion"][0]["content"] for line in lines(tmp_path / "s.jsonl")] == ["a b c 4", "4"]


def test_pairs_share_a_prompt_and_have_similar_lengths(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [
        rollout("a", 1.0, "x " * 9 + "4"),
        rollout("b", 0.0, "7"),
        rollout("a", 0.0, "5"),
        rollout("a", 0.0, "y " * 8 + "5"),
        rollout("c", 1.0, "4"),
    ]
    assert assay("curate", write(rows), "--preferences", tmp_path / "p.jsonl")[0] == 0
    (pair,) = lines(tmp_path / "p.jsonl")
    assert pair["prompt"] == [{"role": "user", "content": "a?"}]
    assert (pair["chosen"][0]["content"], pair["rejected"][0]["content"]) == ("x " * 9 + "4", "y " * 8 + "5")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_prompts_in_the_band_are_written_in_every_format(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path, suffix: str
) -> None:
    rows = [rollout("easy", 1.0, "4"), rollout("mid", 0.0, "5"), rollout("easy", 1.0, "4."), rollout("mid", 1.0, "4")]
    source = write(rows)
    for shape in ("rows", "trl", "verl"):
        target = tmp_path / f"rl-{shape}.{suffix}"
        assert assay("curate", source, "--rl", target, "--shape", shape, "--band", "0.1:0.9")[0] == 0
        if suffix == "parquet":
            (line,) = pytest.importorskip("pyarrow.parquet").read_table(target).to_pylist()
        else:
            (line,) = lines(target)
        if shape == "verl":
            assert line["extra_info"]["pass_rate"] == 0.5 and line["extra_info"]["verifier"] == "exact"
            assert json.loads(line["reward_model"]["ground_truth"])["gold"] == "4"
        else:
            assert line["pass_rate"] == 0.5 and line["verifier"] == "exact"


@pytest.mark.parametrize(
    "arguments",
    [[], ["--sft", "x", "--shape", "rows"], ["--sft", "x", "--band", "1:0"], ["--sft", "x", "--must-match", "("]],
)
def test_invalid_curate_options_are_refused(
    write: Write,
    assay: Callable[..., tuple[int, str]],
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert assay("curate", write([rollout("a", 1.0)]), *arguments)[0] == 2


def test_lines_with_different_fields_fit_one_parquet_file(
    write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    """A tool call after a thousand plain messages, references of several types, a lone surrogate: nothing is lost."""
    parquet = pytest.importorskip("pyarrow.parquet")
    call = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    ]
    rows = [rollout(f"g{n}", 1.0, f"It is {n}.") for n in range(1100)] + [
        {**rollout("last", 1.0), "completion": call, "gold_completion": "4"}
    ]
    rows[5]["completion"] = "bad \udcff 4"
    rows[6]["reference"] = {"mode": "set", "gold": ["4", "5"], "extract": "whole"}
    source = write(rows)
    assert (
        assay("curate", source, "--sft", tmp_path / "s.parquet", "--rl", tmp_path / "r.parquet", "--shape", "verl")[0]
        == 0
    )
    last = parquet.read_table(tmp_path / "s.parquet").to_pylist()[-1]["messages"][-1]
    assert last["tool_calls"][0]["function"]["name"] == "f"
    assert assay("curate", source, "--rl", tmp_path / "own.parquet", "--shape", "rows")[0] == 0
    own = parquet.read_table(tmp_path / "own.parquet").to_pylist()
    assert json.loads(own[6]["reference"])["gold"] == ["4", "5"] and own[-1]["gold_completion"] == "4"
    assert assay("curate", source, "--sft", tmp_path / "s.jsonl")[0] == 0 and len(lines(tmp_path / "s.jsonl")) == 1101


def test_a_stream_cannot_be_read_twice(assay: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    assert assay("curate", "-", "--sft", tmp_path / "s.jsonl")[0] == 2


def test_no_text_is_used_in_two_pairs(write: Write, assay: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    rows = [rollout("a", 1.0, "4"), rollout("a", 1.0, " 4"), rollout("a", 0.0, "5"), rollout("a", 0.0, "5 ")]
    assert assay("curate", write(rows), "--preferences", tmp_path / "p.jsonl", "--pairs", 4)[0] == 0
    assert len(lines(tmp_path / "p.jsonl")) == 1
