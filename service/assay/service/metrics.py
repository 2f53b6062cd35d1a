"""Prometheus metrics. Labels are verifiers and outcomes, never a run, a step or a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.service.engine.engine import Engine
from assay.service.engine.render import ResultFrame

BUCKETS_S = (0.0001, 0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 120)


class Metrics:
    """What one service counts."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_EngineGauges(engine))
        self._results = Counter(
            "assay_results", "Results by verifier, outcome and reason of a no-verdict.",
            ["verifier", "outcome", "error"], registry=self._registry,
        )  # fmt: skip
        self._cached = Counter("assay_cached_results", "Results from the cache.", registry=self._registry)
        self._run = Histogram(
            "assay_run_seconds", "Time that a verdict took in its lane.", ["verifier"],
            buckets=BUCKETS_S, registry=self._registry,
        )  # fmt: skip

    def results(self, frames: Iterable[ResultFrame]) -> None:
        """Count results that leave."""
        for (verifier, outcome, error), group in _grouped(frames).items():
            self._results.labels(verifier, outcome, error).inc(len(group))
            for frame in group:
                if frame.cached:
                    self._cached.inc()
                elif frame.reward is not None:
                    self._run.labels(verifier).observe(frame.timing.run_ms / 1000)

    def text(self) -> bytes:
        """All metrics, for a scrape."""
        return generate_latest(self._registry)


def _grouped(frames: Iterable[ResultFrame]) -> dict[tuple[str, str, str], list[ResultFrame]]:
    groups: dict[tuple[str, str, str], list[ResultFrame]] = {}
    for frame in frames:
        error = frame.reason if frame.outcome == "no_verdict" else ""
        groups.setdefault((frame.verifier, frame.outcome, error), []).append(frame)
    return groups


class _EngineGauges(Collector):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Gauges, read when scraped."""
        if self._engine.started:
            yield GaugeMetricFamily("assay_queue_depth", "Items that wait for a lane.", value=self._engine.depth)
            yield GaugeMetricFamily("assay_lanes", "Lanes that can work.", value=self._engine.lane_count)
