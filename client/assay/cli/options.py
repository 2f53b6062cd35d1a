"""Options that several commands share, as annotations of their parameters."""

from __future__ import annotations

from typing import Annotated

import typer

ServerOption = Annotated[list[str] | None, typer.Option(help="URL of a service. Default: embedded.")]
ServersOption = Annotated[
    list[str] | None, typer.Option(help="URL of a service; repeatable, for fail-over. Default: embedded.")
]
PluginsOption = Annotated[
    list[str] | None,
    typer.Option("--verifiers", help="Python file with custom verifiers (embedded engine only)."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]
SecondOpinionOption = Annotated[
    bool, typer.Option("--second-opinion", help="Also ask math-verify about mathematical rows.")
]
