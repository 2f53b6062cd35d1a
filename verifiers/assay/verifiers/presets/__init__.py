"""Reward presets of published recipes, by name: composites with parameters, stored as JSON files in this package.

A row has `{"preset": name, "params": {…}}` in place of `parts` and `combine`. In a file, `{"$param": p}` stands for a
parameter's value, inserted as is and never expanded again; `{"$switch": p, "cases": {…}, "else"?: …}` for the case
that a parameter names; and `{"$merge": [object, …]}` for one object in which later members win. A parameter without a
default is required; an unknown one refuses the row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from assay.verifiers.errors import InvalidReference


def names() -> list[str]:
    """Return the names of the presets."""
    found = (entry.name.removesuffix(".json") for entry in files(__package__).iterdir() if entry.name.endswith(".json"))
    return sorted(found)


@cache
def load(name: str) -> Mapping[str, Any]:
    """Return a preset's file: `summary`, `source`, `params`, `reference`. Raises `KeyError`."""
    if name not in names():
        raise KeyError(name)
    preset: dict[str, Any] = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return preset


def expand(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the composite reference that a preset stands for. Raises `InvalidReference`."""
    try:
        preset = load(name)
    except KeyError:
        raise InvalidReference(f"unknown preset; the presets are {', '.join(names())}", field="preset") from None
    known = preset["params"]
    for stray in params.keys() - known.keys():
        raise InvalidReference(f"unknown; the parameters are {', '.join(known)}", field=f"params.{stray[:40]}")
    values = {key: params.get(key, entry.get("default")) for key, entry in known.items()}
    missing = [key for key, entry in known.items() if key not in params and "default" not in entry]
    if missing:
        raise InvalidReference("required by the preset", field=f"params.{missing[0]}")
    reference: dict[str, Any] = _filled(preset["reference"], values)
    return reference


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, list):
        return [_filled(item, values) for item in template]
    if not isinstance(template, dict):
        return template
    if "$param" in template:
        return values[template["$param"]]
    if "$switch" in template:
        chosen, cases = values[template["$switch"]], template["cases"]
        if isinstance(chosen, str) and chosen in cases:
            return _filled(cases[chosen], values)
        if "else" not in template:
            raise InvalidReference(f"must be one of {', '.join(cases)}", field=f"params.{template['$switch']}")
        return _filled(template["else"], values)
    if "$merge" in template:
        return _merged([_filled(item, values) for item in template["$merge"]])
    return {key: _filled(item, values) for key, item in template.items()}


def _merged(members: list[Any]) -> dict[str, Any]:
    if not all(isinstance(member, dict) for member in members):
        raise InvalidReference("must be an object", field="params")
    return {key: value for member in members for key, value in member.items()}
