"""Hostile completions and rows through the whole engine: right verdicts, lanes alive, nothing fetched."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from assay.client import Client

CALLS = {"expect": {"calls": [{"name": "g", "args": {}}]}}
HOSTILE = {
    "arrays": "[" * 40_000,
    "objects": '{"a":' * 8_000,
    "call": '<tool_call>{"name":"g","arguments":' + '{"a":' * 8_000 + "1" + "}" * 8_001 + "</tool_call>",
    "digits": '<tool_call>{"name":"g","arguments":{"a":' + "9" * 100_000 + "}}</tool_call>",
    "nan": '<tool_call>{"name":"g","arguments":{"a":NaN}}</tool_call>',
    "twice": '<tool_call>{"name":"g","arguments":{"a":1,"a":1}}</tool_call>',
    "python": "[g(a=__import__('os').system('true'))]",
    "long": "a" * 1_000_000,
}
PARTS = [
    {"name": "call", "verifier": "tool", "reference": CALLS},
    {"name": "json", "verifier": "schema", "reference": {"schema": True}},
]
REFERENCES: dict[str, list[dict[str, Any]]] = {
    "tool": [CALLS, {**CALLS, "syntax": "pythonic"}],
    "schema": [{"schema": {"type": "object", "pattern": "^(a+)+$", "maxProperties": 0}}],
    "format": [{"constraints": [{"type": "language", "code": "fr"}, {"type": "title"}], "aggregate": "all"}],
    "composite": [{"parts": PARTS, "combine": {"op": "min"}}],
}
GOOD = {"verifier": "tool", "completion": '<tool_call>{"name":"g","arguments":{}}</tool_call>', "reference": CALLS}


@pytest.fixture
def client() -> Iterator[Client]:
    with Client("embedded:") as client:
        yield client


def test_hostile_completions_score_0_and_leave_the_lanes_alive(client: Client) -> None:
    items = [
        {"verifier": verifier, "completion": text, "reference": reference}
        for text in HOSTILE.values()
        for verifier, references in REFERENCES.items()
        for reference in references
    ]
    results = client.score([*items, GOOD])
    assert [result.reward for result in results] == [0.0] * len(items) + [1.0]


def test_rows_that_would_fetch_are_refused_and_nothing_is_fetched(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        places = [f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", "file:///etc/passwd", "other.json"]
        schemas = [{"$ref": place} for place in places]
        items = [{"verifier": "schema", "completion": "1", "reference": {"schema": schema}} for schema in schemas]
        results = client.score([*items, GOOD])
        with pytest.raises(TimeoutError):
            server.accept()
    assert [result.error and result.error.code for result in results[:3]] == ["invalid_reference"] * 3
    assert "passwd" not in json.dumps([result.model_dump(mode="json") for result in results])
    assert results[-1].reward == 1
