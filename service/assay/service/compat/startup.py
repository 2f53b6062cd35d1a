"""Check the compat protocols' settings against the verifiers that the engine has, before the first request.

A verifier that does not exist, or a template of a reference that lacks a required field or has an unknown one, would
make every row a faulty one. Templates that hold a whole reference, or a verifier's name in a placeholder, are only
known with a row, and are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from assay.client import ConfigurationError
from assay.client.templates import columns
from assay.service.compat.settings import CompatSettings, MappedSettings


def check_protocols(settings: CompatSettings, verifiers: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ConfigurationError`, naming the key, if a protocol's settings fit no row.

    `verifiers` are `Engine.descriptions`.
    """
    known = {entry["name"]: entry.get("reference") or {} for entry in verifiers}
    for name, protocol in settings:
        if isinstance(protocol, MappedSettings) and not columns(protocol.verifier):
            _check(f"[wires.{name}]", protocol, known)


def _check(section: str, protocol: MappedSettings, known: Mapping[str, Mapping[str, Any]]) -> None:
    if protocol.verifier not in known:
        names = ", ".join(sorted(known))
        raise ConfigurationError(f"{section} verifier: there is no {protocol.verifier!r}; the verifiers are: {names}")
    schema = known[protocol.verifier]
    if isinstance(protocol.reference, str) or "properties" not in schema:
        return
    given = set(protocol.reference)
    unknown = sorted(given - set(schema["properties"]))
    if unknown and schema.get("additionalProperties") is False:
        near = get_close_matches(unknown[0], schema["properties"], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"{section} reference: {protocol.verifier} has no field {unknown[0]!r}{hint}")
    missing = sorted(set(schema.get("required", ())) - given)
    if missing:
        raise ConfigurationError(f"{section} reference: {protocol.verifier} requires {', '.join(missing)}")
