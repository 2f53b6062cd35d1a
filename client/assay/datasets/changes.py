"""Which verdicts changed between two scorings of the same completions, and grouped by what.

A verdict is its reward, score and reason. The same `item_key` with another verdict is no change of version: it says
that something is not deterministic, and is told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_EXAMPLES = 5
WITHIN = 1e-9
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """What a group of changes has in common."""

    verifier_before: str
    verifier_after: str
    before: str
    """Outcome and reason, such as `incorrect (unparsed)`."""
    after: str

    def __str__(self) -> str:
        same = self.verifier_before == self.verifier_after
        who = self.verifier_after if same else f"{self.verifier_before} → {self.verifier_after}"
        return f"{who}: {self.before} → {self.after}"


@dataclass
class Changes:
    """Counts, and the first few rows of each group."""

    compared: int = 0
    same: int = 0
    missing: int = 0
    """Rows that carry a result on one side only."""
    unstable: int = 0
    """Changed with an equal item key."""
    groups: Counter[Change] = field(default_factory=Counter)
    examples: dict[Change, list[str]] = field(default_factory=dict)

    def add(self, name: str, before: Result | None, after: Result | None) -> bool:
        """Compare two results of one row; True if they differ."""
        before, after = (result if isinstance(result, Mapping) else None for result in (before, after))
        if before is None or after is None:
            self.missing += before is not after
            return False
        self.compared += 1
        if alike(before, after):
            self.same += 1
            return False
        change = Change(str(before.get("verifier")), str(after.get("verifier")), _said(before), _said(after))
        self.groups[change] += 1
        if len(found := self.examples.setdefault(change, [])) < MOST_EXAMPLES:
            found.append(name)
        key = before.get("item_key")
        self.unstable += key is not None and key == after.get("item_key")
        return True

    @property
    def changed(self) -> int:
        """Rows whose verdict is another."""
        return self.compared - self.same

    def fields(self) -> dict[str, Any]:
        """Return as JSON."""
        return {
            "compared": self.compared, "same": self.same, "changed": self.changed, "missing": self.missing,
            "unstable": self.unstable,
            "groups": [
                {"verifier_before": c.verifier_before, "verifier_after": c.verifier_after, "before": c.before,
                 "after": c.after, "rows": count, "examples": self.examples[c]}
                for c, count in self.groups.most_common()
            ],
        }  # fmt: skip


def alike(before: Result, after: Result) -> bool:
    """Return whether two results are one verdict."""
    return (
        _near(before.get("reward"), after.get("reward"))
        and _near(before.get("score"), after.get("score"))
        and before.get("reason") == after.get("reason")
    )


def _near(left: Any, right: Any) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return bool(abs(left - right) <= WITHIN)
    return bool(left == right)


def _said(result: Result) -> str:
    outcome, reason = result.get("outcome"), result.get("reason")
    reward = result.get("reward")
    shown = f" {reward:g}" if outcome in ("partial", "shaped") and isinstance(reward, int | float) else ""
    return f"{outcome}{shown} ({reason})"
