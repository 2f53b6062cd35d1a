"""Read verified rollouts prompt by prompt from a file of results in any order.

A first pass counts each prompt's samples; a second yields a prompt as soon as its last sample is read. Memory is
bounded by the prompts that are still incomplete, plus a few numbers per prompt.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.cli.errors import Unusable
from assay.cli.inputs import open_rows
from assay.cli.rows import Row


@dataclass(frozen=True)
class Rollout:
    """One sample with its result."""

    fields: Mapping[str, Any]

    @property
    def result(self) -> Mapping[str, Any]:
        """The result."""
        found = self.fields.get("result")
        return found if isinstance(found, Mapping) else {}

    @property
    def score(self) -> float | None:
        """Correctness, else the reward, or None without a verdict."""
        if self.result.get("reward") is None:
            return None
        score = self.result.get("score")
        return float(self.result["reward"] if score is None else score)

    @property
    def reward(self) -> float:
        """The reward after shaping, or 0 without a verdict."""
        return float(self.result.get("reward") or 0.0)

    @property
    def completion(self) -> Any:
        """The completion, as text or messages."""
        return self.fields.get("completion")

    @property
    def text(self) -> str:
        """The completion as one text."""
        if isinstance(self.completion, str):
            return self.completion
        return json.dumps(self.completion, sort_keys=True, ensure_ascii=False)

    @property
    def length(self) -> int:
        """Length in tokens if the caller counted them, else in words."""
        tokens = self.fields.get("completion_tokens")
        return tokens if isinstance(tokens, int) else len(self.text.split())


@dataclass
class Prompt:
    """All samples of one prompt."""

    name: str
    rollouts: list[Rollout] = field(default_factory=list)

    @property
    def with_verdict(self) -> list[Rollout]:
        """The samples with a verdict."""
        return [rollout for rollout in self.rollouts if rollout.score is not None]

    @property
    def pass_rate(self) -> float | None:
        """Share of samples with a verdict that are correct, or None."""
        scores = [rollout.score for rollout in self.with_verdict]
        return sum(score == 1 for score in scores) / len(scores) if scores else None


def prompts(path: str) -> Iterator[Prompt]:
    """Yield the prompts with all their samples. Raises `Unusable`."""
    if not os.path.isfile(path):
        raise Unusable("the results are read twice, so they must be a file", source=path)
    with open_rows(path) as rows:
        left = Counter(group_of(row) for row in rows)
    waiting: dict[str, Prompt] = {}
    with open_rows(path) as rows:
        for row in rows:
            name = group_of(row)
            prompt = waiting.setdefault(name, Prompt(name))
            prompt.rollouts.append(Rollout(json.loads(row.text)))
            left[name] -= 1
            if not left[name]:
                del left[name]
                yield waiting.pop(name)


def group_of(row: Row) -> str:
    """Return the id of the row's prompt: its group as text, else its own id."""
    group = row.group if row.group is not None else row.value("group")
    return row.id if group is None else str(group)
