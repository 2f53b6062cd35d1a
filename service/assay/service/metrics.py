"""Prometheus metrics. Labels are verifiers and outcomes, never a run, a step or a group.

Counting is on the hot path: results are counted in plain dicts and converted to metric families only on a scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.service.engine.engine import Engine
from assay.service.engine.render import ResultFrame
from assay.service.replicas.share import Share
from assay.service.shadow import Shadow

BOUNDS_S = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
REDIS = {
    "hits": "Verdicts found by another replica.",
    "misses": "Verdicts that Redis did not return in time.",
    "rejected": "Entries that failed authentication: changed, moved, or of another secret.",
    "dropped": "Entries that were not written.",
    "faults": "Commands without a timely answer.",
}
_BOUNDS_MS = [bound * 1000 for bound in BOUNDS_S]


class _Histogram:
    """Counts per bucket, and the sum in milliseconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_ms = 0.0

    def observe(self, value_ms: float) -> None:
        """Add one value."""
        self.counts[bisect_left(_BOUNDS_MS, value_ms)] += 1
        self.sum_ms += value_ms

    def buckets(self) -> list[tuple[str, float]]:
        """Return cumulative counts, as in Prometheus."""
        total, out = 0, []
        for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], self.counts, strict=True):
            total += count
            out.append((bound, float(total)))
        return out


class Metrics(Collector):
    """The counters of one service."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, engine: Engine, share: Share, shadow: Shadow | None = None) -> None:
        self._engine, self._share, self._shadow = engine, share, shadow
        self._results: Counter[tuple[str, str, str]] = Counter()
        self._runs: defaultdict[str, _Histogram] = defaultdict(_Histogram)
        self._cached = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def results(self, frames: Iterable[ResultFrame]) -> None:
        """Count returned results."""
        for frame in frames:
            verdict = frame.reward is not None
            verifier = self._known(frame.verifier)
            self._results[verifier, frame.outcome, "" if verdict else frame.reason] += 1
            if frame.cached:
                self._cached += 1
            elif verdict:
                self._runs[verifier].observe(frame.timing.run_ms)

    def _known(self, label: str) -> str:
        """Return a verifier's label, or `unknown` for a name that a caller made up."""
        name = label.partition("@")[0]
        facts = self._engine.catalogue.get(name)
        return facts.label if facts is not None else "unknown"

    def text(self) -> bytes:
        """Return all metrics in text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the current metric families."""
        results = CounterMetricFamily(
            "assay_results",
            "Results, with the error code if there is no verdict.",
            labels=["verifier", "outcome", "error"],
        )
        for labels, count in self._results.items():
            results.add_metric(labels, count)
        runs = HistogramMetricFamily("assay_run_seconds", "Time per verdict in its lane.", labels=["verifier"])
        for verifier, histogram in self._runs.items():
            runs.add_metric([verifier], histogram.buckets(), sum_value=histogram.sum_ms / 1000)
        yield results
        yield runs
        yield CounterMetricFamily("assay_cached_results", "Results from the cache.", value=self._cached)
        yield from self._shared()
        if self._shadow is not None:
            yield from _shadowed(self._shadow)
        if self._engine.started:
            yield GaugeMetricFamily("assay_queue_depth", "Items waiting for a lane.", value=self._engine.depth)
            yield GaugeMetricFamily("assay_lanes", "Available lanes.", value=self._engine.lane_count)

    def _shared(self) -> Iterator[Metric]:
        quotas, link = self._share.quotas, self._share.link
        if quotas is not None:
            refused = CounterMetricFamily("assay_quota_refused", "Requests refused, by quota.", labels=["quota"])
            for quota, count in quotas.refused.items():
                refused.add_metric([quota], count)
            yield refused
        if link is not None:
            yield GaugeMetricFamily("assay_redis_up", "Whether Redis is used; 0: unavailable or slow.", value=link.up)
            for name, meaning in REDIS.items():
                yield CounterMetricFamily(f"assay_redis_{name}", meaning, value=link.counts[name])


def _shadowed(shadow: Shadow) -> Iterator[Metric]:
    requests = CounterMetricFamily("assay_shadow_requests", "Requests by outcome.", labels=["outcome"])
    for outcome, count in shadow.requests.items():
        requests.add_metric([outcome], count)
    results = CounterMetricFamily(
        "assay_shadow_results", "Results compared with the other version's.", labels=["verifier", "change"]
    )
    for verifier, change, count in shadow.counts():
        results.add_metric([verifier, change], count)
    yield requests
    yield results
