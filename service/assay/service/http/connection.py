"""Work that nobody waits for any more ends: a client that closes its connection cancels what it asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request

T = TypeVar("T")


class ClientGone(Exception):
    """The client has closed its connection; nobody reads the answer."""


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the work's result; the work is cancelled when the client goes away. Read the body before."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        for pending in (task, gone):
            pending.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
