"""The app with all compat protocols on, and the rows that trainers send."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest_asyncio

from ..http.conftest import served as served

EXACT = {"mode": "string", "gold": "{label}", "extract": "whole"}
MAPPED = {"verifier": "exact", "reference": EXACT}
WIRES: dict[str, Any] = {
    "openrlhf": MAPPED,
    "slime": MAPPED,
    "nemo_gym": {"verifier": "exact", "reference": {**EXACT, "gold": "{expected_answer}"}, "prefix": "/nemo"},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def wires() -> AsyncIterator[httpx.AsyncClient]:
    """Settings with every compat protocol on, with defaults."""
    async with served(wires=WIRES) as (_, client):
        yield client


def rollout(text: str, label: Any = "4", prompt: str = "<|im_start|>2+2?\n") -> dict[str, Any]:
    """Return OpenRLHF's request for one rollout."""
    return {"query": [f"{prompt}{text}<|im_end|>"], "prompts": [prompt], "labels": [label]}


def response(*output: dict[str, Any]) -> dict[str, Any]:
    """Return a Responses object."""
    return {"id": "r", "object": "response", "output": list(output)}


def said(text: str) -> dict[str, Any]:
    """Return an assistant message of a Responses object."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
