"""`assay curate RESULTS`: turn verified rollouts into training data."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.errors import Unusable
from assay.cli.files import is_parquet
from assay.datasets.curate import Rules, Tally, add_prompt, for_sft, in_band, pairs, prompts
from assay.datasets.curate.report import as_html, as_json
from assay.datasets.curate.shapes import RL, SFT, flat_rl, trl_pair
from assay.datasets.curate.writer import Writer


def curate(
    results: Annotated[
        str, typer.Argument(help="A file written by `assay score`, with several samples per prompt (`group`).")
    ],
    sft: Annotated[Path | None, typer.Option(help="SFT samples: .jsonl or .parquet.")] = None,
    preferences: Annotated[Path | None, typer.Option(help="Pairs of a correct and a wrong sample, for DPO.")] = None,
    rl: Annotated[Path | None, typer.Option(help="Prompts for the next RL stage.")] = None,
    shape: Annotated[str, typer.Option(help="trl or verl; for --rl also rows (Assay's own format).")] = "trl",
    best: Annotated[int | None, typer.Option(min=1, help="Maximum number of samples per prompt.")] = None,
    pairs_each: Annotated[int, typer.Option("--pairs", min=1, help="Maximum number of pairs per prompt.")] = 1,
    band: Annotated[str, typer.Option(help="Pass rates of the prompts for --rl, LOW:HIGH.")] = "0:1",
    min_score: Annotated[float, typer.Option(help="Minimum score of an SFT sample.")] = 1.0,
    min_length: Annotated[int, typer.Option(min=0, help="Minimum length in tokens (words if not counted).")] = 0,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Maximum length in tokens (words if not counted).")
    ] = None,
    must_match: Annotated[str | None, typer.Option(help="Regular expression that the text must contain.")] = None,
    keep_flagged: Annotated[
        bool, typer.Option("--keep-flagged", help="Keep samples flagged for tampering, spam and the like.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the counts of kept and dropped samples as JSON.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None,
) -> None:
    """Select verified rollouts for training, and write them in a trainer's format."""
    if not (sft or preferences or rl):
        raise Unusable("name at least one output: --sft, --preferences or --rl")
    if shape not in RL or (shape not in SFT and sft is not None):
        raise Unusable("--shape must be trl or verl (for --rl also rows)")
    rules = Rules(
        min_score=min_score,
        best=best,
        min_length=min_length,
        max_length=max_length,
        band=_band(band),
        must_match=_pattern(must_match),
        keep_flagged=keep_flagged,
        pairs=pairs_each,
    )
    tally = _curate(results, rules, shape, sft, preferences, rl)
    _print(tally)
    for target, text in ((json_file, as_json), (html, as_html)):
        if target is not None:
            target.write_text(text(tally), encoding="utf-8")


def _band(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low <= high <= 1:
        raise Unusable("--band must be LOW:HIGH with 0 <= LOW <= HIGH <= 1, such as 0.1:0.9")
    return low, high


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise Unusable(f"--must-match: {error}") from None


def _curate(
    results: str, rules: Rules, shape: str, sft: Path | None, preferences: Path | None, rl: Path | None
) -> Tally:
    tally = Tally()
    with ExitStack() as stack:
        writers = [None if path is None else stack.enter_context(Writer(path)) for path in (sft, preferences, rl)]
        to_sft, to_pairs, to_rl = writers
        for prompt in prompts(results):
            add_prompt(prompt, tally)
            if prompt.pass_rate is None:
                continue
            if to_sft is not None:
                for rollout in for_sft(prompt, rules, tally):
                    to_sft.add(SFT[shape](rollout))
            if to_pairs is not None:
                for chosen, rejected in pairs(prompt, rules, tally):
                    to_pairs.add(trl_pair(chosen, rejected))
            if to_rl is not None and in_band(prompt, rules, tally):
                made = flat_rl if shape == "rows" and is_parquet(str(rl)) else RL[shape]
                to_rl.add(made(prompt, tally.kept["rl"]))
                tally.kept["rl"] += 1
    return tally


def _print(tally: Tally) -> None:
    print(f"{tally.samples} samples of {tally.prompts} prompts")
    for name, count in tally.kept.items():
        print(f"  kept     {count:>8}  {name}")
    for why, count in tally.dropped.most_common():
        if count:
            print(f"  dropped  {count:>8}  {why}")
