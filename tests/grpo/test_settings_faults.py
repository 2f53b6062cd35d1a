"""Settings and models that would train on something else than they say: refused at load, or loaded as they are."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, Gemma2Config, Gemma2ForCausalLM

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw, load_prompts
from assay.trainer_adapter.grpo.rollout.generate import LocalGenerator
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.server_api import SYNCS, filled
from assay.trainer_adapter.grpo.rollout.servers import ServerGenerator
from assay.trainer_adapter.grpo.run.config import Data, GeneratorSettings, Lora
from assay.trainer_adapter.grpo.run.loop import OffPolicy, Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import policy_of, run_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),  # peft 0.21 asks it
    pytest.mark.filterwarnings("ignore:Could not find a config file"),  # a base that is a folder of adapters has none
]
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}="


@pytest.mark.parametrize("kind", ["vllm", "sglang", "openai"])
def test_a_server_that_never_gets_the_weights_needs_a_correction(kind: str, paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"generator\.sync = none.*vllm_reload"):
        run_of(paths, f"generator.kind={kind}")
    run_of(paths, f"generator.kind={kind}", "algorithm.correction=token_truncate")
    run_of(paths, f"generator.kind={kind}", "generator.sync=vllm_reload")


@pytest.mark.parametrize("budget", [8, 9])
def test_a_thinking_budget_that_never_applies_is_refused(budget: int, paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="would never apply"):
        run_of(paths, "rollout.max_tokens=8", f"rollout.thinking.budget={budget}")
    run_of(paths, "rollout.max_tokens=8", "rollout.thinking.budget=7")


def test_vllm_reloads_the_weights_of_the_version_and_not_those_it_started_with() -> None:
    calls, _ = SYNCS["vllm_reload"]
    posted = [(path, filled(body, {"path": "/w/version-3", "version": "3"})) for path, body in calls]
    reload = {"method": "reload_weights", "kwargs": {"weights_path": "/w/version-3"}}
    assert posted == [("/collective_rpc", reload), ("/reset_prefix_cache", {})]


@pytest.mark.timeout(300)
def test_samples_of_another_policy_end_the_run(paths: dict[str, str], tmp_path: Path) -> None:
    bound = ["algorithm.min_ess=0.9999999", "max_low_ess_steps=2", "optimizer.lr=0.05", "optimizer.warmup_steps=0"]
    stale = ["optimizer.minibatches=2", "optimizer.epochs=2", "steps=9", "eval.every=0", *bound]
    run = run_of(paths, *stale)
    training = Training(run, tmp_path, quiet=True)
    training._generator = LocalGenerator(policy_of(paths).frozen(), batch=64)  # never synchronised
    training.rollouts.pool._generator = training._generator
    with pytest.raises(OffPolicy, match=r"2 steps in a row.*generator\.sync"):
        training.train()
    assert len(read_lines(tmp_path / "metrics.jsonl")) < 9


def adapters_of(paths: dict[str, str], folder: Path) -> Policy:
    """Return a policy with LoRA whose adapters are not zero, saved in `folder`."""
    policy = policy_of(paths, lora=Lora(rank=2))
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    policy.save(folder)
    return policy


def test_a_folder_of_adapters_is_loaded_with_its_base(paths: dict[str, str], tmp_path: Path) -> None:
    adapted = adapters_of(paths, tmp_path / "adapter")
    ids = torch.tensor([[5, 6, 7, 8]])
    want = adapted.model.eval()(input_ids=ids).logits
    base = policy_of(paths).model.eval()(input_ids=ids).logits
    loaded = policy_of(paths, path=str(tmp_path / "adapter"))
    got = loaded.model.eval()(input_ids=ids).logits
    assert not torch.allclose(base, want, atol=1e-2) and torch.allclose(got, want, atol=1e-4)
    again = policy_of(paths, path=str(tmp_path / "adapter"), lora=Lora(rank=2))
    assert torch.allclose(again.model.eval()(input_ids=ids).logits, want, atol=1e-4)
    again.save(tmp_path / "second")
    second = policy_of(paths, path=str(tmp_path / "second"))
    assert torch.allclose(second.model.eval()(input_ids=ids).logits, want, atol=1e-4), "adapters over adapters"
    with pytest.raises(ConfigurationError, match="merged here and not on the server"):
        ServerGenerator(GeneratorSettings(kind="vllm", sync="vllm_lora"), again, tmp_path)


def test_the_kl_of_a_run_from_adapters_is_to_where_it_started(paths: dict[str, str], tmp_path: Path) -> None:
    adapters_of(paths, tmp_path / "adapter")
    run = run_of(paths)
    settings = run.model.model_copy(update={"path": str(tmp_path / "adapter"), "lora": Lora(rank=2)})
    policy = Policy.load(settings)
    reference = policy.reference(settings)
    ids = torch.tensor([[5, 6, 7, 8]])
    start = policy.model.eval()(input_ids=ids).logits
    with reference.model.disable_adapter():
        assert torch.allclose(reference.model.eval()(input_ids=ids).logits, start, atol=1e-5)


@pytest.mark.timeout(600)
def test_a_finished_run_is_extended_as_if_it_had_been_longer(paths: dict[str, str], tmp_path: Path) -> None:
    constant = ["optimizer.schedule=constant", "eval.every=0"]

    def lines(folder: Path) -> list[dict[str, Any]]:
        timed = ("_s", "_ms")
        return [{k: v for k, v in one.items() if not k.endswith(timed)} for one in read_lines(folder / "metrics.jsonl")]

    Training(run_of(paths, *constant, "steps=4"), tmp_path / "whole", quiet=True).train()
    Training(run_of(paths, *constant, "steps=2"), tmp_path / "short", quiet=True).train()
    Training(run_of(paths, *constant, "steps=4"), tmp_path / "short", resume=True, quiet=True).train()
    assert lines(tmp_path / "short") == lines(tmp_path / "whole")
    Training(run_of(paths, "optimizer.schedule=linear", "eval.every=0", "steps=2"), tmp_path / "l", quiet=True).train()
    with pytest.raises(ConfigurationError, match=r"--steps may change where optimizer\.schedule is constant"):
        Training(run_of(paths, "optimizer.schedule=linear", "eval.every=0", "steps=4"), tmp_path / "l", resume=True)


def chat_rows(tmp_path: Path, *prompts: Any) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
    return path


def test_a_list_of_messages_is_a_chat(paths: dict[str, str], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(paths["model.path"])
    tokenizer.chat_template = CHAT
    turns = [
        {"role": "user", "content": "1+1"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "3+3"},
    ]
    own = [{"role": "system", "content": "4"}, {"role": "user", "content": "5"}]
    path = chat_rows(tmp_path, turns, own, "7+7", [], ["x"], [{"role": "user"}])
    data = Data(train=str(path), system="9")
    prompts = load_prompts(path, data, tokenizer, seed=0)
    assert prompts.faults == 3
    written = [tokenizer.decode(prompt.ids) for prompt in prompts.prompts]
    plain = [tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (
        "<system>9<user>1+1<assistant>2<user>3+3=", "<system>4<user>5=", "<system>9<user>7+7=",
    )]  # fmt: skip
    assert written == plain
    assert [prompt.said for prompt in prompts.prompts] == [turns, own, "7+7"]
    with pytest.raises(ConfigurationError, match=r"data\.chat = false"):
        load_prompts(path, data.model_copy(update={"chat": False}), tokenizer, seed=0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_capped_head_samples_in_the_precision_that_it_trains_in(
    dtype: str, paths: dict[str, str], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(paths["model.path"])
    torch.manual_seed(0)
    config = Gemma2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, final_logit_softcapping=2.0, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(tmp_path / "capped")
    tokenizer.save_pretrained(tmp_path / "capped")
    policy = policy_of(paths, path=str(tmp_path / "capped"), dtype=dtype)
    policy.frozen()
    hidden = torch.randn(7, 32)
    with policy.precision():
        inside = policy._logits(hidden)
    outside = policy._logits(hidden)
    assert inside.dtype == outside.dtype == torch.float32 and torch.equal(inside, outside)
    assert float(outside.abs().max()) < 2.0
    found: list[Sample] = []
    prompt = load_prompts(chat_rows(tmp_path, "1+1="), Data(train="x", chat=False), tokenizer, seed=0).prompts[0]
    how = Sampling(samples=4, max_tokens=5, temperature=1.0, seed=1)
    LocalGenerator(policy, batch=8).run([Draw(0, prompt)], how, found.append, lambda _: False)
    assert len(found) == 4 and all(len(sample.logps) == len(sample.ids) for sample in found)
