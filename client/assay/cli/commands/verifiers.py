"""`assay verifiers`: list the verifiers of the engine."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated

import typer

from assay.cli.connect import connect
from assay.cli.options import PluginsOption, ServerOption
from assay.cli.summary import write_table
from assay.client import AsyncClient
from assay.contract.envelope import VerifierInfo


def verifiers(
    name: Annotated[str | None, typer.Argument(help="Print the JSON schema of this verifier's reference.")] = None,
    server: ServerOption = None,
    plugins: PluginsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List the verifiers, their versions and the item fields that each reads."""
    offered = asyncio.run(_list(connect(server or [], plugins=plugins or [])))
    chosen = [info for info in offered if name is None or info.name == name]
    if not chosen:
        print(f"assay: unknown verifier {name!r}", file=sys.stderr)
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
