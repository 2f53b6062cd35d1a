"""Create the client that a command's options ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.cli.access import given
from assay.cli.errors import Unusable
from assay.client import AsyncClient
from assay.client.items import to_json

WINDOW = 16
"""Chunks in flight: enough to keep every lane of one machine busy."""


def connect(servers: Sequence[str], *, plugins: Sequence[str] = ()) -> AsyncClient:
    """Return a client of the embedded engine, or of the service at the URLs. Raises `Unusable`.

    Key and certificates are those of the command line's `access` options.
    """
    if servers and plugins:
        raise Unusable("--verifiers works only with the embedded engine; for a service, use its setting")
    if servers:
        return AsyncClient(list(servers), **dict[str, Any](given))
    if given:
        raise Unusable("--api-key-file, --ca-file, --client-cert and --client-key need --server")
    return AsyncClient("embedded:", plugins=list(plugins)) if plugins else AsyncClient("embedded:")


def run_label(run: str | None) -> bytes | None:
    """Return the `defaults` that label every row without a label of its own."""
    return to_json({"run": run}) if run else None
