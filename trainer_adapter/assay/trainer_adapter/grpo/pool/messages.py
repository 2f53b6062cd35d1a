"""What the trainer's process and a worker say to each other: JSON objects in frames of bytes. Nothing is pickled.

To a worker: `start` (number, prompt), `cancel` (number), `load` (version, path, recompute), `stop`.
From a worker: `ready`, `loaded` (version), `sample` (its fields), `beat` (timings so far).
"""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from typing import Any

from assay.trainer_adapter.grpo.rollout.samples import Sample

FIELDS = ("draw", "index", "ids", "mask", "logps", "text", "truncated", "spans")


def send(connection: Connection, kind: str, **fields: Any) -> None:
    """Send a message. Raises OSError if the other side is gone."""
    connection.send_bytes(json.dumps({"kind": kind, **fields}).encode())


def receive(connection: Connection) -> dict[str, Any]:
    """Return the next message. Raises EOFError or OSError if the other side is gone."""
    message: dict[str, Any] = json.loads(connection.recv_bytes())
    return message


def fields_of(sample: Sample) -> dict[str, Any]:
    """Return a sample as the fields of a message."""
    return {name: getattr(sample, name) for name in FIELDS}


def sample_of(message: dict[str, Any]) -> Sample:
    """Return the sample of a message."""
    fields = {name: message[name] for name in FIELDS}
    return Sample(**{**fields, "spans": [(version, count) for version, count in fields["spans"]]})
