"""What holds on this host: the facts that `/v1/isolation` and `assay doctor` show, and the fingerprint."""

from __future__ import annotations

import hashlib
from typing import Any

from assay.sandbox.host import selftest
from assay.sandbox.host.backends import Backend, Proven
from assay.sandbox.languages import found_languages
from assay.sandbox.settings import Settings


def isolation(settings: Settings, proven: Proven) -> dict[str, Any]:
    """Facts about the backend in use, as JSON."""
    backend = proven.backend
    probes = selftest.report(proven.findings, backend.promises)
    return {
        "backend": backend.name,
        "isolated": bool(backend.promises),
        "holds": all(item["holds"] for item in probes if item["promised"]),
        "facts": backend.facts,
        "probes": probes,
        "languages": {name: toolchain.version for name, toolchain in found_languages().items()},
        "environments": sorted(settings.known_environments()),
        "slots": settings.slots,
        "fingerprint": fingerprint(settings, backend),
    }


def fingerprint(settings: Settings, backend: Backend) -> str:
    """Digest of everything here that a verdict may depend on."""
    digest = hashlib.sha256(f"{backend.name}:{backend.built.fingerprint}".encode())
    for name, toolchain in sorted(found_languages().items()):
        digest.update(f"{name}:{toolchain.digest}".encode())
    for name, environment in sorted(settings.known_environments().items()):
        digest.update(f"{name}:{environment.fingerprint}".encode())
    return digest.hexdigest()
