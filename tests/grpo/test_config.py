"""Configurations: what is wrong is refused before anything is loaded, by name."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import tomllib
from pydantic import BaseModel

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.objective.correction import MODES
from assay.trainer_adapter.grpo.objective.presets import PRESETS
from assay.trainer_adapter.grpo.objective.weights import NORMALISERS
from assay.trainer_adapter.grpo.run.command import RECIPES, execute, read
from assay.trainer_adapter.grpo.run.config import Lora, Run, load, parse
from assay.trainer_adapter.grpo.run.loop import fingerprint, public

from ._tiny import policy_of, run_of

RECIPE_FILES = sorted((Path(__file__).parents[2] / "trainer_adapter" / Path(*RECIPES.split("."))).glob("*.toml"))


@pytest.mark.parametrize("file", RECIPE_FILES, ids=lambda file: file.stem)
def test_a_bundled_recipe_is_a_configuration(file: Path) -> None:
    run = read(file.stem, [])
    assert run.steps > 0 and run == load(file)


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("rollout.top_p=0.9", "top_p must be 1"),
        ("rollout.top_k=50", "top_k 0"),
        ("rollout.temperature=0", "greater than 0"),
        ("rollout.temprature=1", "rollout.temprature"),
        ("algorithm.name=ppo", "no such algorithm; there are grpo"),
        ("eval.k=[8]", "k lies between 1 and samples"),
        ("algorithm.beta=-1", "greater than or equal to 0"),
        ("steps=0", "steps"),
        ("model.dtype=float16", "model.dtype"),
        ("rollout.group=1", "rollout.group"),
        ("rollout.temperature=inf", "finite"),
        ("rollout.temperature=nan", "rollout.temperature"),
        ("rollout.temperature=-1", "greater than 0"),
        ("algorithm.correction_low=3", "correction_low is above correction_high"),
        ("algorithm.dual_clip=1.0", "dual_clip is above 1"),
        ("algorithm.dual_clip=1.25", "dual_clip is above 1"),
        ("algorithm={name='gmpo', surrogate='sapo'}", "ratio = geometric goes with surrogate = clip"),
        ("algorithm.tau_pos=0", "tau_pos and tau_neg must be above 0"),
        ("algorithm.tau_neg=-1.0", "tau_pos and tau_neg must be above 0"),
        ("algorithm.clip_low=-0.1", "clip_low and clip_high"),
        ("algorithm.ratio_cap=0", "ratio_cap"),
        ("optimizer.betas=[0.9, 1.0]", "optimizer.betas"),
    ],
)
def test_what_cannot_be_is_refused_by_name(override: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        read("demo", [override])


def test_beta_without_a_kl_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="beta > 0 with kl = none"):
        read("demo", ["algorithm.beta=0.1", "algorithm.kl=none"])


def test_what_a_completion_or_key_holds_is_in_no_message() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read("demo", ["reward.api_key=5"])
    assert "5" not in str(caught.value).replace("string", "")


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read(str(path), [])


def test_a_recipe_goes_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert read("demo", []).name == "demo"


def test_out_must_be_a_folder(paths: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "under"):
        with pytest.raises(ConfigurationError, match="--out"):
            execute(run_of(paths), out, quiet=True)


@pytest.mark.parametrize("device", ["gpu", "cuda:77", "meta"])
def test_a_device_that_is_not_there_is_refused_by_name(device: str, paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.device"):
        policy_of(paths, device=device)


def test_an_unknown_target_of_adapters_is_refused_by_name(paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.lora"):
        policy_of(paths, lora=Lora(target=["nowhere"]))


def test_an_unknown_recipe_names_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match="demo, gsm8k, smollm2"):
        read("nothing", [])


def test_every_preset_can_be_overridden_column_by_column() -> None:
    for name, preset in PRESETS.items():
        run = read("demo", [f"algorithm.name={name}", "algorithm.dynamic_sampling=false"])
        assert run.algorithm.preset().loss == preset.loss
    changed = read("demo", ["algorithm.clip_high=0.5", "algorithm.normaliser=constant"]).algorithm.preset()
    assert (changed.loss.clip_high, changed.loss.clip_low, changed.normaliser) == (0.5, 0.2, "constant")


def test_a_key_is_in_no_file_of_the_run_and_no_fingerprint(paths: dict[str, str]) -> None:
    run, other = run_of(paths, "reward.api_key='secret'"), run_of(paths)
    assert "secret" not in public(run) and fingerprint(run) == fingerprint(other)


def test_a_fingerprint_changes_with_what_changes_the_numbers(paths: dict[str, str]) -> None:
    assert fingerprint(run_of(paths, "seed=9")) != fingerprint(run_of(paths))
    assert fingerprint(run_of(paths, "reward.url=http://elsewhere")) == fingerprint(run_of(paths))


def test_the_labs_recipe_is_the_labs_task() -> None:
    table = tomllib.loads((RECIPE_FILES[0].parent / "gsm8k.toml").read_text())
    assert table["model"]["path"] == "Qwen/Qwen2.5-1.5B-Instruct" and "boxed" in table["data"]["system"]
    assert table["reward"]["reference"]["extract"] == "boxed"


DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_file_is_a_configuration() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (DOCS / "train.md").read_text(), re.DOTALL)
    assert parse(tomllib.loads(block), "docs").rollout.group == 8
    uncommented = re.sub(r"^# (?=\w+ = )", "", block, flags=re.MULTILINE)
    assert parse(tomllib.loads(uncommented), "docs").rollout.thinking is not None


def test_the_page_of_losses_names_every_algorithm_normaliser_and_correction() -> None:
    page = (DOCS / "losses.md").read_text()
    for name in (*PRESETS, *NORMALISERS, *MODES[1:]):
        assert f"`{name}`" in page, name


def test_the_command_line_reads_a_recipe() -> None:
    command = [
        sys.executable,
        "-m",
        "assay",
        "train",
        "demo",
        "--out",
        "nowhere",
        "--check",
        "--seed",
        "3",
        "--set",
        "steps=7",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "demo: dapo, 7 steps of 64 x 8" in done.stdout
    wrong = subprocess.run([*command, "--set", "rollout.top_p=0.5"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "top_p must be 1" in wrong.stderr


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        inner = [kind for kind in (info.annotation, *get_args(info.annotation)) if isinstance(kind, type)]
        tables = [kind for kind in inner if issubclass(kind, BaseModel)]
        yield from _keys(tables[0], f"{prefix}{name}.") if tables else [prefix + name]


def test_every_key_of_the_file_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/train.md").read_text()
    documented = set(re.findall(r"^\| `([a-z0-9_.]+)` \| .* \| .* \|$", page.partition("## All keys")[2], re.MULTILINE))
    assert documented == set(_keys(Run))
