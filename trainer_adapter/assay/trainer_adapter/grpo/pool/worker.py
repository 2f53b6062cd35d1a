"""A worker process of the pool: `python -m assay.trainer_adapter.grpo.pool.worker FD`.

It reads its settings from the connection, loads the model, then samples what it is told to. It ends when the trainer's
process is gone.
"""

from __future__ import annotations

import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.continuous import ContinuousGenerator
from assay.trainer_adapter.grpo.pool.messages import fields_of, receive, send
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.run.config import Model, Thinking

BEAT_S = 1.0
"""Longest silence of a worker that samples."""


def _loaded(settings: dict[str, Any]) -> ContinuousGenerator:
    torch.set_num_threads(settings["threads"])
    how = settings["sampling"]
    thinking = None if how["thinking"] is None else Thinking.model_validate(how["thinking"])
    policy = Policy.load(Model.model_validate(settings["model"])).frozen()
    return ContinuousGenerator(policy, Sampling(**{**how, "thinking": thinking}), slots=settings["slots"])


def _obey(generator: ContinuousGenerator, connection: Connection, message: dict[str, Any]) -> bool:
    """Do what a message says; return whether to go on."""
    if message["kind"] == "start":
        generator.add(message["number"], message["prompt"])
    elif message["kind"] == "cancel":
        generator.cancel(message["number"])
    elif message["kind"] == "load":
        generator.load(Path(message["path"]), message["version"], recompute=message["recompute"])
        send(connection, "loaded", version=message["version"])
    return bool(message["kind"] != "stop")


def serve(connection: Connection) -> None:
    """Sample until the other side says `stop` or is gone."""
    generator = _loaded(receive(connection))
    send(connection, "ready")
    said = time.monotonic()
    while True:
        while connection.poll(0 if generator.busy else None):
            if not _obey(generator, connection, receive(connection)):
                return
        if not generator.busy:
            continue
        samples = generator.step()
        for sample in samples:
            send(connection, "sample", **fields_of(sample))
        if samples or time.monotonic() - said > BEAT_S:
            said = time.monotonic()
            send(connection, "beat", timings=generator.timings.fields())


def main() -> None:
    """Serve the connection whose file descriptor is the first argument."""
    with Connection(int(sys.argv[1])) as connection:
        try:
            serve(connection)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the trainer's process is gone


if __name__ == "__main__":
    main()
