"""All state that replicas share, opened and closed together. Without Redis it does nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from assay.service.engine.background import Background
from assay.service.engine.engine import Engine
from assay.service.engine.intake.work import Batch, Refused, Work
from assay.service.engine.protocol import Report
from assay.service.engine.schedule.invalidation import Made, Rule
from assay.service.engine.schedule.tickets import Submission, works
from assay.service.replicas.invalidations import SharedRules
from assay.service.replicas.link import Link
from assay.service.replicas.outbox import Outbox
from assay.service.replicas.quotas import Quotas, SharedUse
from assay.service.replicas.references import SharedReferences
from assay.service.replicas.seal import Seal
from assay.service.replicas.settings import QuotaSettings, RedisSettings
from assay.service.replicas.verdicts import SharedVerdicts


class Share:
    """The layer between the front and the engine: quotas, and state in Redis."""

    def __init__(self, engine: Engine, redis: RedisSettings | None, quota: QuotaSettings) -> None:
        """Raise `ConfigurationError` if redis-py is missing or the URL is invalid."""
        self._engine = engine
        self.quotas = Quotas(quota) if quota.any else None
        self.link: Link | None = None
        if redis is not None:
            self._join(redis)
        if self.active:
            engine.on_report = self._reported

    @property
    def active(self) -> bool:
        """Whether anything is shared or limited."""
        return self.quotas is not None or self.link is not None

    def _join(self, redis: RedisSettings) -> None:
        self.link = link = Link(redis.url.get_secret_value(), timeout_s=redis.timeout_ms / 1000)
        seal, limits = Seal(redis.secret.get_secret_value()), self._engine.settings.limits
        self._worth_us = redis.worth_us
        self._outbox = outbox = Outbox(link, ttl_s=redis.ttl_s)
        self._rules = rules = SharedRules(
            link, seal, prefix=redis.prefix, ttl_s=redis.ttl_s, apply=self._engine.invalidate
        )
        self._verdicts = SharedVerdicts(link, outbox, seal, rules, prefix=redis.prefix, entry_bytes=redis.entry_bytes)
        self._references = SharedReferences(link, outbox, seal, prefix=redis.prefix, entry_bytes=limits.reference_bytes)
        self._use = SharedUse(self.quotas, link, seal, prefix=redis.prefix) if self.quotas is not None else None

    async def read(self, read: Callable[[], Awaitable[Batch]], owner: str) -> Batch:
        """Return a batch; references missing locally are first requested from Redis, once. Raises `EnvelopeFault`."""
        batch = await read()
        missing = {entry.digest for entry in batch.entries if isinstance(entry, Refused) and entry.digest}
        if not missing or self.link is None:
            return batch
        found = await self._references.get(owner, missing)
        for digest, body in found.items():
            self._engine.references.put(owner, digest, body)
        return await read() if found else batch

    async def submit(self, batch: Batch) -> Submission:
        """Count the batch against its owner's quota, load verdicts of other replicas, and submit it.

        Raises `QuotaExceeded`, or the errors of the engine's `submit`; nothing is then counted or accepted.
        """
        items = sum(isinstance(entry, Work) for entry in batch.entries)
        if self.quotas is not None:
            self.quotas.admit(batch.owner, items)
        try:
            if self.link is not None and self.link.up and self._engine.settings.cache_bytes:
                await self._warm(work for _, work in works(batch))
            return self._engine.submit(batch)
        except BaseException:
            if self.quotas is not None:
                self.quotas.refund(batch.owner, items)
            raise

    async def _warm(self, wanted: Iterable[Work]) -> None:
        worth = (work for work in wanted if work.facts.repeatable and self._engine.cost_us(work) >= self._worth_us)
        keys = {self._engine.key(work): work.owner for work in worth}
        unknown = [(owner, key) for key, owner in keys.items() if not self._engine.knows(key)]
        if unknown:
            for key, (report, made) in (await self._verdicts.get(unknown)).items():
                self._engine.learn(key, report, made)

    async def invalidate(self, rule: Rule) -> tuple[int, bool]:
        """Drop the verdicts that a rule covers, here and on all replicas.

        Returns how many there were in memory here, and whether the others are told.
        """
        dropped = self._engine.invalidate(rule)
        return dropped, self.link is None or await self._rules.add(rule)

    def reference(self, owner: str, digest: str, body: bytes) -> None:
        """Share a reference that was uploaded here."""
        if self.link is not None:
            self._references.put(owner, digest, body)

    def _reported(self, key: bytes, work: Work, report: Report) -> None:
        spent_us = max(report.cpu_us, report.run_us if work.facts.sandboxed else 0)
        if self.quotas is not None:
            self.quotas.charge(work.owner, spent_us / 1e6)
        kept = work.facts.repeatable and report.lasting
        if self.link is not None and kept and spent_us >= self._worth_us:
            self._verdicts.put(work.owner, key, report, Made.now(work.owner, work.facts.label))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Synchronise inside the context."""
        if self.link is None:
            yield
            return
        await self._rules.sync()
        tasks = [Background("invalidations", self._rules.run)]
        if self._use is not None:
            tasks.append(Background("quotas", self._use.run))
        for task in tasks:
            task.start()
        try:
            yield
        finally:
            for task in tasks:
                await task.stop()
            if self._use is not None:
                await self._use.sync()
            await self._outbox.close()
            await self.link.close()
