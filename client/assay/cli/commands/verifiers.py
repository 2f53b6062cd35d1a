"""`assay verifiers`: what the engine offers."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated

import typer

from assay.cli.connect import connect
from assay.cli.summary import write_table
from assay.client import AsyncClient
from assay.contract.envelope import VerifierInfo


def verifiers(
    name: Annotated[str | None, typer.Argument(help="Show the JSON schema of this one's reference.")] = None,
    server: Annotated[list[str] | None, typer.Option(help="URL of a service. Default: embedded.")] = None,
    plugins: Annotated[
        list[str] | None, typer.Option("--verifiers", help="A Python file with verifiers of your own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False,
) -> None:
    """List the verifiers, their versions and what each reads of an item."""
    offered = asyncio.run(_list(connect(server or [], plugins=plugins or [])))
    chosen = [info for info in offered if name is None or info.name == name]
    if not chosen:
        print(f"assay: no verifier {name!r} here", file=sys.stderr)
        raise typer.Exit(1)
    if as_json:
        print(json.dumps([info.model_dump() for info in chosen], indent=2))
    elif name is not None:
        print(json.dumps(chosen[0].reference, indent=2))
    else:
        _table(chosen)


async def _list(client: AsyncClient) -> list[VerifierInfo]:
    async with client:
        return await client.verifiers()


def _table(offered: list[VerifierInfo]) -> None:
    rows = [
        [f"{info.name}@{info.version}", "sandbox" if info.sandboxed else "-", " ".join(sorted(info.reads))]
        for info in offered
    ]
    write_table(sys.stdout, ("verifier", "runs in", "reads"), rows)
