"""Selection of verified rollouts: for SFT, as preference pairs, and as prompts for the next RL stage.

Rejection sampling (DeepSeek-R1, arXiv 2501.12948, section 2.3.3; RFT, arXiv 2308.01825): keep correct samples, drop
those that are truncated, flagged, too long or duplicates, and cap the number per prompt. Pairs: a correct and a wrong
sample of one prompt with similar length, since a length difference is the first thing that preference losses learn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from assay.datasets.curate.rollouts import Prompt, Rollout

_SUSPECT = ("tampering", "answer_spam", "truncated", "trust:low")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Selection rules. Lengths are in tokens if the caller counted them, else in words; bands are of pass rates."""

    min_score: float = 1.0
    best: int | None = None
    """Maximum number of samples per prompt: highest reward first, then shortest."""
    min_length: int = 0
    max_length: int | None = None
    band: tuple[float, float] = (0.0, 1.0)
    """Prompts for RL are those whose pass rate is in this closed band. SFT samples and pairs come from all prompts."""
    must_match: re.Pattern[str] | None = None
    """A regular expression of the operator that the text must contain (such as `^<think>`)."""
    keep_flagged: bool = False
    pairs: int = 1
    """Maximum number of preference pairs per prompt."""


@dataclass
class Tally:
    """Number of samples and prompts that each rule dropped."""

    prompts: int = 0
    samples: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    pass_rates: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def add_prompt(prompt: Prompt, tally: Tally) -> None:
    """Count a prompt and its samples."""
    tally.prompts += 1
    tally.samples += len(prompt.rollouts)
    tally.dropped["no verdict"] += len(prompt.rollouts) - len(prompt.with_verdict)
    if prompt.pass_rate is not None:
        tally.pass_rates.append(prompt.pass_rate)


def in_band(prompt: Prompt, rules: Rules, tally: Tally) -> bool:
    """Return whether the prompt's pass rate is in the band for RL; count it if it is not."""
    rate = prompt.pass_rate
    if rate is None:
        return False
    low, high = rules.band
    if not low <= rate <= high:
        tally.dropped["prompt out of band"] += 1
        return False
    return True


def for_sft(prompt: Prompt, rules: Rules, tally: Tally) -> list[Rollout]:
    """Return the samples for SFT."""
    kept, seen = [], set[str]()
    for rollout in prompt.with_verdict:
        why = _why_not(rollout, rules) or ("said already" if _plain(rollout) in seen else None)
        if why is None:
            seen.add(_plain(rollout))
            kept.append(rollout)
        else:
            tally.dropped[why] += 1
    if rules.best is not None and len(kept) > rules.best:
        kept.sort(key=lambda rollout: (-rollout.reward, rollout.length))
        tally.dropped["beyond the best"] += len(kept) - rules.best
        kept = kept[: rules.best]
    tally.kept["sft"] += len(kept)
    tally.lengths += [rollout.length for rollout in kept]
    return kept


def _why_not(rollout: Rollout, rules: Rules) -> str | None:
    """Return the name of the first rule that drops the sample, or None."""
    checks: dict[str, Callable[[], bool]] = {
        "not right": lambda: (rollout.score or 0.0) < rules.min_score,
        "cut off": lambda: bool(rollout.fields.get("truncated")),
        "flagged": lambda: not rules.keep_flagged and _suspect(rollout),
        "too short": lambda: rollout.length < rules.min_length,
        "too long": lambda: rules.max_length is not None and rollout.length > rules.max_length,
        "format": lambda: rules.must_match is not None and rules.must_match.search(rollout.text) is None,
    }
    return next((why for why, drops in checks.items() if drops()), None)


def _suspect(rollout: Rollout) -> bool:
    return any(str(flag).startswith(_SUSPECT) for flag in rollout.result.get("flags") or ())


def _plain(rollout: Rollout) -> str:
    return " ".join(rollout.text.split())


def _once(rollouts: Iterable[Rollout]) -> list[Rollout]:
    """Return the rollouts without duplicate texts."""
    return list({_plain(rollout): rollout for rollout in rollouts}.values())


def pairs(prompt: Prompt, rules: Rules, tally: Tally) -> Iterator[tuple[Rollout, Rollout]]:
    """Yield (chosen, rejected): a correct usable sample and the wrong one of nearest length; no sample is used
    twice.
    """
    chosen = _once(rollout for rollout in prompt.with_verdict if _why_not(rollout, rules) is None)
    chosen.sort(key=lambda rollout: (-rollout.reward, rollout.length))
    rejected = _once(r for r in prompt.with_verdict if r.score == 0 and not r.fields.get("truncated"))
    for good in chosen[: rules.pairs]:
        if not rejected:
            return
        bad = min(rejected, key=lambda rollout: abs(rollout.length - good.length))
        rejected.remove(bad)
        tally.kept["pairs"] += 1
        yield good, bad
