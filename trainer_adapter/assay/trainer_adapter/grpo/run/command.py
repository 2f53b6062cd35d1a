"""`assay train`: a configuration of your own, or a bundled recipe by its name.

assay train demo --out DIR          a tiny model learns sums on a CPU in about two minutes
assay train run.toml --out DIR      your model, rows and verifier
torchrun --nproc-per-node 8 -m assay train run.toml --out DIR
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import tomllib
import typer

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.config import RegimeKind, Run, load

RECIPES = "assay.trainer_adapter.grpo.recipes"
PLACEHOLDER = "prepared"
"""Placeholder of a recipe for a path that its preparation fills in."""


def train(
    config: Annotated[str, typer.Argument(help="A TOML file, or a recipe: demo, smollm2, gsm8k.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint in --out.")] = False,
    server: Annotated[list[str] | None, typer.Option(help="URL of Assay. Default: the file's.")] = None,
    regime: Annotated[RegimeKind | None, typer.Option(help="sync, async or fully_async. Default: the file's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Default: the file's.")] = None,
    steps: Annotated[int | None, typer.Option(help="Default: the file's.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, as TOML.")] = None,
    check: Annotated[bool, typer.Option(help="Read and check the configuration only.")] = False,
    quiet: Annotated[bool, typer.Option(help="No progress.")] = False,
) -> None:
    """Train a model by GRPO on rewards from Assay."""
    overrides = [f"regime.kind={regime}"] if regime is not None else []
    overrides += set_ or []
    overrides += [f"seed={seed}"] if seed is not None else []
    overrides += [f"steps={steps}"] if steps is not None else []
    overrides += [f"reward.url={server if len(server) > 1 else repr(server[0])}"] if server else []
    run = read(config, overrides)
    if check:
        print(f"{config}: {run.algorithm.name}, {run.steps} steps of {run.rollout.prompts} x {run.rollout.group}")
        return
    execute(run, out, resume=resume, quiet=quiet)


def execute(run: Run, out: Path, *, resume: bool = False, quiet: bool = False) -> Path:
    """Run the preparation of a recipe, then train. Return the folder of the run."""
    from assay.trainer_adapter.grpo.run.loop import Training
    from assay.trainer_adapter.grpo.run.ranks import Ranks

    start = time.monotonic()
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"--out {out}: not a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"--out {out}: {error.strerror}") from None
    ranks = Ranks()
    try:
        if ranks.first:
            prepared(run, out, writes=True)
        ranks.barrier()
        run = prepared(run, out, writes=False)
        folder = Training(run, out, resume=resume, quiet=quiet, ranks=ranks).train()
    finally:
        ranks.close()
    if ranks.first and not quiet:
        print(f"assay: done in {time.monotonic() - start:.0f} s: {folder / 'report.html'}", file=sys.stderr)
    return folder


def read(config: str, overrides: list[str]) -> Run:
    """Return the run of a file, or of a bundled recipe. Raises ConfigurationError."""
    if Path(config).suffix == ".toml" or Path(config).is_file():
        return load(Path(config), overrides)
    recipe = files(RECIPES) / f"{config}.toml"
    if not recipe.is_file():
        names = sorted(one.name.removesuffix(".toml") for one in files(RECIPES).iterdir() if one.name.endswith(".toml"))
        raise ConfigurationError(f"no file and no recipe {config!r}; there are {', '.join(names)}")
    with as_file(recipe) as path:
        return load(path, overrides)


def prepared(run: Run, out: Path, *, writes: bool) -> Run:
    """Return the run with the paths that its recipe prepares under `out`, once."""
    if run.prepare is None:
        return run
    done = out / "prepared.toml"
    if writes and not done.exists():
        if run.threads is not None:
            import torch

            torch.set_num_threads(run.threads)
        out.mkdir(parents=True, exist_ok=True)
        paths = _kinds()[run.prepare.kind](out, seed=run.seed, **run.prepare.options)
        done.write_text("".join(f"'{name}' = '{path}'\n" for name, path in paths.items()))
    return _filled(run, tomllib.loads(done.read_text())) if done.exists() else run


def _kinds() -> Mapping[str, Callable[..., dict[str, str]]]:
    from assay.trainer_adapter.grpo.run import smollm2, tiny

    return {"tiny_sums": tiny.prepare, "smollm2_sums": smollm2.prepare}


def _filled(run: Run, paths: Mapping[str, Any]) -> Run:
    table = run.model_dump()
    for name, path in paths.items():
        section, _, field = name.partition(".")
        if table[section][field] in (None, PLACEHOLDER):
            table[section][field] = path
    return Run.model_validate(table)
