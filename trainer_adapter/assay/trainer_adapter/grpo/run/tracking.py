"""Trackers: TensorBoard, trackio and Weights & Biases, through each library's own public calls.

A tracker that is asked for must work at the start. One that fails later is noted once and left: it never ends a run.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.config import Run, Tracking
from assay.trainer_adapter.grpo.run.identity import public

FILE = "tracking.json"
"""Holds the identity of the run at its trackers, so that a resumed run continues there."""


class Tracker(Protocol):
    """Shows the figures of a run."""

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Show the figures of a step."""
        ...

    def close(self) -> None:
        """Flush what is kept."""
        ...


class TensorBoard:
    """Event files in `OUT/tensorboard`."""

    def __init__(self, run: Run, out: Path, *, after: int, name: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._board = SummaryWriter(str(out / "tensorboard"), purge_step=after + 1)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Write scalars."""
        for key, value in figures.items():
            self._board.add_scalar(key, value, step)

    def close(self) -> None:
        """Write the last events."""
        self._board.close()


class Trackio:
    """A run of trackio, in a local database or a Space that `TRACKIO_SPACE_ID` names."""

    def __init__(self, run: Run, out: Path, *, after: int, name: str) -> None:
        import trackio

        self._run = trackio.init(
            project=run.tracking.project,
            name=name,
            config=json.loads(public(run)),
            resume="allow",
            embed=False,
            space_id=os.environ.get("TRACKIO_SPACE_ID"),
        )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Add the figures."""
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        """Send what is kept."""
        self._run.finish()


class WeightsAndBiases:
    """A run of Weights & Biases. Its own variables apply: WANDB_API_KEY, WANDB_MODE, WANDB_ENTITY."""

    def __init__(self, run: Run, out: Path, *, after: int, name: str) -> None:
        import wandb

        self._run = wandb.init(
            project=run.tracking.project, name=name, id=name, dir=out, config=json.loads(public(run)), resume="allow"
        )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Add the figures."""
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        """Send what is kept."""
        self._run.finish()


KINDS: Mapping[str, tuple[Callable[..., Tracker], str]] = {
    "tensorboard": (TensorBoard, "tensorboard"),
    "trackio": (Trackio, "trackio"),
    "wandb": (WeightsAndBiases, "wandb"),
}
"""Trackers, and the package that each needs."""


class Trackers:
    """The trackers of a run."""

    def __init__(self, run: Run, out: Path, *, after: int, note: Callable[[str], None]) -> None:
        """`after`: the step that the run continues from. Raises ConfigurationError naming the tracker."""
        self._note = note
        name = _name(run.tracking, out, run.name)
        self._open = {kind: _started(kind, run, out, after, name) for kind in run.tracking.kind}

    def log(self, prefix: str, line: Mapping[str, Any]) -> None:
        """Show the numbers of a line of `metrics.jsonl` or `evals.jsonl` as `prefix/name`."""
        figures = {
            f"{prefix}/{name}": float(value)
            for name, value in line.items()
            if isinstance(value, int | float) and name != "step"
        }
        self._each(lambda tracker: tracker.log(figures, line["step"]))

    def close(self) -> None:
        """Flush all."""
        self._each(lambda tracker: tracker.close())

    def _each(self, do: Callable[[Tracker], None]) -> None:
        for kind, tracker in list(self._open.items()):
            try:
                do(tracker)
            except Exception as error:  # whatever a tracker raises, the run goes on without it
                del self._open[kind]
                self._note(f"tracking: {kind} is left out from here on: {type(error).__name__}: {error}")


def _started(kind: str, run: Run, out: Path, after: int, name: str) -> Tracker:
    make, package = KINDS[kind]
    try:
        return make(run, out, after=after, name=name)
    except ImportError:
        raise ConfigurationError(f"tracking.kind: {kind} needs a package: pip install {package}") from None
    except Exception as error:  # errors of the network and of accounts, of kinds that each library defines
        said = " ".join(str(error).split())[:300]
        raise ConfigurationError(f"tracking.kind: {kind} cannot start: {type(error).__name__}: {said}") from None


def _name(tracking: Tracking, out: Path, run: str) -> str:
    """Return the run's name at its trackers: the same after a resume."""
    path = out / FILE
    if path.exists():
        return str(json.loads(path.read_text())["name"])
    name = tracking.name or f"{run}-{uuid.uuid4().hex[:8]}"
    path.write_text(json.dumps({"name": name}))
    return name
