"""The client that a command's options ask for."""

from __future__ import annotations

from collections.abc import Sequence

from assay.cli.errors import Unusable
from assay.client import AsyncClient
from assay.client.items import to_json

WINDOW = 16
"""Chunks under way at once: enough to keep every lane of one machine busy."""


def connect(servers: Sequence[str], *, plugins: Sequence[str] = ()) -> AsyncClient:
    """The embedded engine, or the service at one or several URLs. Raises `Unusable`."""
    if servers and plugins:
        raise Unusable("--verifiers loads into the embedded engine; a service has its own setting")
    if servers:
        return AsyncClient(list(servers))
    return AsyncClient("embedded:", plugins=list(plugins)) if plugins else AsyncClient("embedded:")


def run_label(run: str | None) -> bytes | None:
    """Defaults that label every row that carries no label of its own."""
    return to_json({"run": run}) if run else None
