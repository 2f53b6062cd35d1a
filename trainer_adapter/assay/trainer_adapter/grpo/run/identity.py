"""What identifies a run: its configuration without secrets, and the part that a resumed run must share."""

from __future__ import annotations

import hashlib
import json

from assay.trainer_adapter.grpo.run.config import Run

OTHER = (
    "checkpoint",
    "prepare",
    "simulate",
    "tracking",
    "threads",
    "samples_kept",
    "max_ungraded_steps",
    "max_low_ess_steps",
)
"""Keys that do not change the numbers."""


def public(run: Run) -> str:
    """Return the configuration as JSON, without API keys."""
    table = run.model_dump(mode="json")
    for section in ("reward", "generator"):
        table[section]["api_key"] = None
    return json.dumps(table, indent=1)


def fingerprint(run: Run) -> str:
    """Return a digest of the configuration that a resumed run must share with its checkpoint.

    Excluded is what does not change the numbers: paths, URLs, API keys, timeouts, the outage policy, the device,
    threads, bounds that only end a run, and the tables `checkpoint`, `prepare`, `simulate` and `tracking`. So is the
    number of steps, unless the learning rate depends on it: a finished run can be extended.
    """
    table = run.model_dump(mode="json")
    if run.optimizer.schedule == "constant":
        table.pop("steps")
    table["algorithm"].pop("min_ess")
    table["regime"].pop("group_deadline_s")
    for section, names in {
        "reward": ("url", "api_key", "deadline_s", "options", "on_outage", "patience_s"),
        "generator": ("url", "api_key", "timeout_s"),
        "model": ("path", "device"),
        "data": ("train", "eval"),
    }.items():
        for name in names:
            table[section].pop(name)
    for name in OTHER:
        table.pop(name)
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
