"""What holds on this host: the facts that `/v1/isolation` and `assay doctor` show, and the fingerprint."""

from __future__ import annotations

import hashlib
from typing import Any

from assay.sandbox.backends import Backend
from assay.sandbox.languages import found_languages
from assay.sandbox.settings import Settings


def isolation(settings: Settings, backend: Backend) -> dict[str, Any]:
    """Facts about the backend in use, as JSON."""
    languages = found_languages()
    environments = settings.known_environments()
    digest = hashlib.sha256(f"{backend.name}:{backend.built.fingerprint}".encode())
    for name, toolchain in sorted(languages.items()):
        digest.update(f"{name}:{toolchain.digest}".encode())
    for name, environment in sorted(environments.items()):
        digest.update(f"{name}:{environment.fingerprint}".encode())
    return {
        "backend": backend.name,
        "languages": {name: toolchain.version for name, toolchain in languages.items()},
        "environments": sorted(environments),
        "fingerprint": digest.hexdigest(),
    }
