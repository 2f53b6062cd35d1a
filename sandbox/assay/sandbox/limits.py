"""What one run may use: asked for by the row, bounded by the host's ceilings, never clamped."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from assay.sandbox.errors import LimitTooHigh


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run. Sizes in MiB, times in seconds.

    `cpu_s` None means as much as `wall_s`. `processes` counts processes and threads. `output_mb`
    bounds standard output; of standard error 64 KiB are kept and the rest is drained.
    `disk_mb` is the whole writable space (working folder, /tmp and /dev/shm together).
    """

    wall_s: float = 5.0
    cpu_s: float | None = None
    memory_mb: int = 512
    processes: int = 64
    output_mb: float = 4.0
    disk_mb: int = 64
    file_mb: int = 64
    open_files: int = 256
    stack_mb: int = 64

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that the main process may use."""
        return self.wall_s if self.cpu_s is None else self.cpu_s

    def override(self, **asked: float | None) -> Limits:
        """These limits with those that are asked for (None: not asked)."""
        return replace(self, **{name: value for name, value in asked.items() if value is not None})  # type: ignore[arg-type]


CEILINGS = Limits(
    wall_s=60.0, cpu_s=60.0, memory_mb=4096, processes=256, output_mb=64.0, disk_mb=1024, file_mb=1024,
    open_files=1024, stack_mb=1024,
)  # fmt: skip
"""The most that a row may ask for."""
_RUNTIME_OVERHEAD = {"processes": 64, "memory_mb": 512, "stack_mb": 0}
"""What a language's runtime may need on top of what the row asks for."""


def check(limits: Limits, ceilings: Limits = CEILINGS, *, with_runtime: bool = False) -> None:
    """Raises `LimitTooHigh` naming the first limit above its ceiling, or not above zero."""
    for field in fields(Limits):
        value, ceiling = getattr(limits, field.name), getattr(ceilings, field.name)
        if ceiling is not None and with_runtime:
            ceiling += _RUNTIME_OVERHEAD.get(field.name, 0)
        if value is not None and not 0 < value <= ceiling:
            raise LimitTooHigh(f"{field.name} must be above 0 and at most {ceiling:g} on this host")
