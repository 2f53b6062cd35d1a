"""The engine's settings: bounds on requests, limits of an item, number of lanes.

Limits are data. A request above a ceiling is refused, never clamped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from assay.sandbox import Settings as Sandbox
from assay.sandbox.host.cgroups import memory_limit

KIB, MIB = 1024, 1024 * 1024
SLOT_BYTES = 1024 * MIB
"""Memory of one slot: a program and its checker at the default limit."""


def default_lanes() -> int:
    """Return one lane per usable core, divided by the processes of this machine (torchrun's LOCAL_WORLD_SIZE)."""
    cores = len(os.sched_getaffinity(0))
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(1, cores // max(1, int(ranks) if ranks.isdigit() else 1))


def default_slots() -> int:
    """Return one slot per lane, but no more than the container's memory holds at the default limit of a program."""
    return max(1, min(default_lanes(), memory_limit() // SLOT_BYTES))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Ceilings on what a caller may send."""

    body_bytes: int = 64 * MIB
    completion_bytes: int = 4 * MIB
    reference_bytes: int = 16 * MIB
    items: int = 4096
    queue_items: int = 16384
    queue_bytes: int = 512 * MIB
    label_chars: int = 512
    timeout_s: float = 120.0
    cpu_s: float = 60.0
    uploaded_bytes: int = 256 * MIB
    inflight_bytes: int = 512 * MIB
    read_s: float = 30.0


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Settings of one engine. `plugins`: files, modules or entry points."""

    lanes: int = field(default_factory=default_lanes)
    limits: Limits = field(default_factory=Limits)
    plugins: tuple[str, ...] = ()
    sandbox: Sandbox | None = field(default_factory=lambda: Sandbox(slots=default_slots()))
    """Backends and slots; None: no program is ever run. One sandbox lane a slot."""
    warm: tuple[str, ...] = ()
    """Modules that the forkserver imports before the first lane, such as sympy."""
    algebra_lanes: int = 1
    """Lanes for computer algebra (`math`); started when an item first needs one."""
    cache_bytes: int = 64 * MIB
    lane_memory_mb: int = 2048
    lane_rss_mb: int = 768
    """A lane whose resident set has grown past this is replaced between chunks."""
    lane_items: int = 50_000
    """A lane is replaced after this many items."""
    stuck_s: float = 60.0
    """Wall seconds on one item of a text verifier after which its lane counts as stuck."""
    chunk_items: int = 64
    chunk_cpu_ms: float = 5.0
    """CPU milliseconds of work in one chunk of cheap items, about."""
