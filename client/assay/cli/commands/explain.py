"""`assay explain`: explain why one completion gets its reward.

assay explain math '\\boxed{0.5}' --answer 1/2
assay explain exact 'It is 18.' --reference '{"mode": "number", "gold": "18", "extract": "last_number"}'
assay explain code solution.md --reference @task.json
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.connect import WINDOW, connect
from assay.cli.errors import Unusable
from assay.cli.explanation import explain as write_explanation
from assay.cli.options import PluginsOption, ServerOption
from assay.cli.pipeline import score_rows
from assay.cli.rows import Row, parse_row
from assay.client import AsyncClient


def explain(
    verifier: Annotated[str, typer.Argument(help="Name of the verifier.")],
    completion: Annotated[str, typer.Argument(help="The completion; `@FILE` or `-` (stdin) to read it.")],
    reference: Annotated[str | None, typer.Option(help="The reference as JSON, or `@FILE`.")] = None,
    answer: Annotated[str | None, typer.Option(help='Short for a reference of `{"answer": …}`.')] = None,
    profile: Annotated[str | None, typer.Option(help="Set `profile` in the reference.")] = None,
    server: ServerOption = None,
    plugins: PluginsOption = None,
) -> None:
    """Score one completion and explain how it was parsed and compared."""
    item: dict[str, Any] = {"id": "explained", "verifier": verifier, "completion": _text(completion)}
    item["reference"] = _reference(reference, answer, profile)
    row = parse_row(json.dumps(item).encode(), index=0, line=1, source="explain")
    asyncio.run(_explain(connect(server or [], plugins=plugins or []), row))


def _text(value: str) -> str:
    if value == "-":
        return sys.stdin.read()
    try:
        return Path(value[1:]).read_text() if value.startswith("@") else value
    except OSError as error:
        raise Unusable(f"{value[1:]}: {error.strerror}") from None


def _reference(reference: str | None, answer: str | None, profile: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(_text(reference)) if reference is not None else {}
    except ValueError:
        raise Unusable("--reference is not JSON") from None
    if not isinstance(fields, dict):
        raise Unusable("--reference is not a JSON object")
    given = {"answer": answer, "profile": profile}
    return fields | {name: value for name, value in given.items() if value is not None}


async def _explain(client: AsyncClient, row: Row) -> None:
    async with client:
        async for scored in score_rows(client, [row], window=WINDOW, explain={row.id}):
            write_explanation(row, scored.answers[row.index].fields, sys.stdout)
