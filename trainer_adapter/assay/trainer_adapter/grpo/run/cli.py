"""`assay train CONFIG` and its further commands, `assay train simulate`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from assay.trainer_adapter.grpo.run.command import train
from assay.trainer_adapter.grpo.simulate.command import simulate

TRAIN = "run"


class _TrainByDefault(TyperGroup):
    """A group whose first argument may be left out: what is not the name of a command is trained."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the training command before arguments that name none."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else [TRAIN, *args])


app = typer.Typer(cls=_TrainByDefault, add_completion=False, help="Train with GRPO, or simulate a run.")
app.command(TRAIN, epilog="assay train simulate CONFIG: forecast a run without training. See its --help.")(train)
app.command("simulate")(simulate)
