"""The lab's recipes, run dry: our loop and the TRL script on a tiny model and rows in the data set's own form."""

import json
from pathlib import Path

import pytest

from assay.trainer_adapter.grpo.run import tiny
from assay.trainer_adapter.grpo.run.command import execute, prepared, read
from assay.trainer_adapter.grpo.run.records import read_lines

TEMPLATE = "{% for m in messages %}{% if m['role'] == 'user' %}{{ m['content'] }}{% endif %}{% endfor %}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model under a chat template, and rows as GSM8K has them."""
    out = tmp_path_factory.mktemp("lab")
    words = tiny.tokenizer()
    words.chat_template = TEMPLATE
    words.save_pretrained(out / "model")
    tiny.model(words, width=32, layers=1, seed=0).save_pretrained(out / "model")
    lines = [{"question": f"{n}+1=", "answer": f"We add.\n#### {n + 1}"} for n in range(8)]
    (out / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return out


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")  # peft 0.21 asks it
def test_the_labs_recipe_trains_in_our_loop(lab: Path, tmp_path: Path) -> None:
    overrides = [
        f"model.path='{lab / 'model'}'", f"data.train='{lab / 'rows.jsonl'}'", f"data.eval='{lab / 'rows.jsonl'}'",
        "steps=1", "rollout.prompts=2", "rollout.group=2", "rollout.max_tokens=4", "model.dtype='float32'",
    ]  # fmt: skip
    execute(read("gsm8k", overrides), tmp_path, quiet=True)
    (line,) = read_lines(tmp_path / "metrics.jsonl")
    assert line["graded"] == 1.0 and line["groups_drawn"] == 2


def test_the_labs_reference_judges_a_box_against_the_answer_after_the_hashes(lab: Path) -> None:
    from assay.trainer_adapter.grpo.rollout.data import Draw, Prompt
    from assay.trainer_adapter.grpo.rollout.samples import Sample
    from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer
    from assay.trainer_adapter.grpo.run.config import Reward

    reward: Reward = read("gsm8k", []).reward
    draw = Draw(0, Prompt({"question": "7+1=", "answer": "We add.\n#### 8"}, "7+1=", ()))
    said = [r"so \boxed{8}", r"so \boxed{9}", "8"]
    samples = [Sample(0, at, [1], [True], [0.0], text, truncated=False) for at, text in enumerate(said)]
    grades = SampleScorer(reward, run="t").submit([(draw, sample) for sample in samples], step=0).result()
    assert [grade.reward for grade in grades] == [1.0, 0.0, 0.0]


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_the_labs_trl_script_trains(lab: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="trl is not installed")
    from assay.trainer_adapter.grpo.recipes.gsm8k_trl import main

    trainer = main([
        "--model", str(lab / "model"), "--data", str(lab / "rows.jsonl"), "--out", str(tmp_path), "--steps", "1",
        "--prompts", "2", "--group", "2", "--max-tokens", "4", "--cpu",
    ])  # fmt: skip
    logged = [line for line in trainer.state.log_history if "rewards/assay_exact/mean" in line]
    assert len(logged) == 1 and logged[0]["assay_exact/graded"] == 1.0


def test_a_recipe_is_prepared_once(tmp_path: Path) -> None:
    run = read("demo", ["prepare.options={warm_steps=1, limit=4, held_out=4, width=16, layers=1}"])
    one = prepared(run, tmp_path, writes=True)
    changed = (tmp_path / "base" / "model.safetensors").stat().st_mtime_ns
    assert prepared(run, tmp_path, writes=True) == one and Path(one.model.path).exists()
    assert (tmp_path / "base" / "model.safetensors").stat().st_mtime_ns == changed
    held, train = (
        {row["question"] for row in read_lines(tmp_path / name)} for name in ("held_out.jsonl", "train.jsonl")
    )
    assert len(held) == 4 and len(train) == 12 and not held & train
