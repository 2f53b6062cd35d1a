"""A proxy that passes requests on to a service after a delay, as a service has whose verdicts take long.

python -m bench._slow_verdicts PORT URL MEDIAN_S SIGMA
"""

from __future__ import annotations

import asyncio
import random
import sys

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def app_of(url: str, median_s: float, sigma: float) -> Starlette:
    """Return the proxy; every POST waits for a log-normal number of seconds."""
    client = httpx.AsyncClient(base_url=url, timeout=120, limits=httpx.Limits(max_connections=None))
    dice = random.Random(0)

    async def passed_on(request: Request) -> Response:
        if request.method == "POST":
            await asyncio.sleep(dice.lognormvariate(0, sigma) * median_s)
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        answer = await client.request(request.method, request.url.path, content=await request.body(), headers=headers)
        kept = {name: value for name, value in answer.headers.items() if name in ("content-type", "retry-after")}
        return Response(answer.content, answer.status_code, kept)

    return Starlette(routes=[Route("/{path:path}", passed_on, methods=["GET", "POST", "DELETE"])])


if __name__ == "__main__":
    port, url, median_s, sigma = sys.argv[1:]
    uvicorn.run(app_of(url, float(median_s), float(sigma)), port=int(port), log_level="error")
