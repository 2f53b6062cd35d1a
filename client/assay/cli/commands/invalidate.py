"""`assay invalidate`: drop cached verdicts of a service, by item key, verifier and time."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any

import typer

from assay.cli.access import given
from assay.cli.errors import OK, UNFINISHED, Unusable
from assay.cli.options import ServersOption
from assay.client.http_transport import HttpTransport


def invalidate(
    server: ServersOption = None,
    item_key: Annotated[str | None, typer.Option(help="`item_key` of a result.")] = None,
    verifier: Annotated[str | None, typer.Option(help="A verifier, as `name` or `name@version`.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Verdicts made at this time or later (local time).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Verdicts made up to this time. Default: now.")] = None,
) -> None:
    """Drop cached verdicts of the key's owner, on the service, its replicas and in Redis; all options must match."""
    asked: dict[str, Any] = {"item_key": item_key, "verifier": verifier}
    asked |= {name: at.timestamp() for name, at in (("since", since), ("until", until)) if at is not None}
    rule = {name: value for name, value in asked.items() if value is not None}
    if not server or not rule:
        raise Unusable("invalidate needs --server, and one of --item-key, --verifier, --since, --until")
    told = True
    for url in server:
        answer = asyncio.run(_ask(url, json.dumps(rule).encode()))
        print(f"{url}: {answer['dropped']} verdicts dropped from memory")
        told = told and bool(answer["replicas_told"])
    if not told:
        print("assay: Redis did not take the rule; run the same command again for the other replicas")
    raise typer.Exit(OK if told else UNFINISHED)


async def _ask(url: str, body: bytes) -> Any:
    transport = HttpTransport(url, **dict[str, Any](given))
    try:
        return json.loads(await transport.post("/v1/invalidate", body))
    finally:
        await transport.aclose()
