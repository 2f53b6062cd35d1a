"""A second opinion on mathematical answers: math-verify beside the verifier `math`. Never part of a verdict.

It runs in a process of its own, because it may take long, and its timeouts want a main thread. Install it with
`assay[verify]`.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType
from typing import Any

from assay.cli.errors import Unusable

TIMEOUT_S = 5
"""Seconds that each of math-verify's steps (gold, answer, comparison) may take."""
NAME = "math-verify"


class SecondOpinion:
    """Asks math-verify about completions, one at a time."""

    def __init__(self) -> None:
        try:
            importlib.import_module("math_verify")
        except ImportError:
            raise Unusable("a second opinion needs math-verify: pip install 'assay[verify]'") from None
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))

    def __enter__(self) -> SecondOpinion:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    async def of(self, fields: Mapping[str, Any]) -> bool | None:
        """Whether math-verify accepts an item's completion; None where the item is not for it, or it gives up."""
        reference, completion = fields.get("reference"), fields.get("completion")
        if fields.get("verifier", "").partition("@")[0] != "math" or not isinstance(reference, Mapping):
            return None
        gold = reference.get("answer")
        if not isinstance(completion, str) or not isinstance(gold, str):
            return None
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(
                loop.run_in_executor(self._pool, accepts, gold, completion), timeout=6 * TIMEOUT_S
            )
        except (TimeoutError, BrokenProcessPool):
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._new()
            return None


def accepts(gold: str, completion: str) -> bool | None:
    """Whether math-verify finds a completion's answer equal to the gold; None where it cannot parse the gold."""
    library = importlib.import_module("math_verify")
    parsed = library.parse(f"\\boxed{{{gold}}}", parsing_timeout=TIMEOUT_S)
    if not parsed:
        return None
    answer = library.parse(completion, parsing_timeout=TIMEOUT_S)
    return bool(library.verify(parsed, answer, timeout_seconds=TIMEOUT_S))


class Opinions:
    """How often two opinions agreed, and the rows on which they did not."""

    def __init__(self) -> None:
        self.asked = 0
        self.disagreements: list[tuple[str, float, bool]] = []
        """Row, reward, and what the second opinion says."""

    def add(self, row: str, reward: float | None, second: bool | None) -> bool:
        """Note one row; True if the opinions differ."""
        if reward is None or second is None:
            return False
        self.asked += 1
        if (reward >= 1.0) is second:
            return False
        self.disagreements.append((row, reward, second))
        return True

    def fields(self) -> dict[str, Any]:
        """As JSON."""
        rows = [{"id": row, "reward": reward, NAME: second} for row, reward, second in self.disagreements]
        return {"by": NAME, "asked": self.asked, "disagreements": rows}
