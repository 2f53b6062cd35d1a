"""Package environments that an operator adds to `plain`, as named in the settings.

    [sandbox_environments.sci]                      # the bundled one: numpy, scipy, pandas, sympy
    [sandbox_environments.web]
    requirements = "web.txt"
    preload = ["bs4"]

They are installed with pip when the sandbox starts, once per content of the requirements file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from assay.sandbox import Recipe, sci

EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
_BUNDLED = {"sci": sci}


class EnvironmentSettings(BaseModel):
    """One environment. `requirements` may be omitted only for a bundled name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requirements: Path | None = Field(None, description="A requirements file; absent: the bundled one of that name.")
    preload: tuple[str, ...] = Field((), description="Modules that are imported before every program.")


Environments = Mapping[EnvironmentName, EnvironmentSettings]


def recipes(environments: Environments) -> tuple[Recipe, ...]:
    """Return the environments to install. Raises `ValueError` naming an environment that cannot be installed."""
    return tuple(_recipe(name, asked) for name, asked in environments.items())


def _recipe(name: str, asked: EnvironmentSettings) -> Recipe:
    if name == "plain":
        raise ValueError("environment plain is the standard library only; choose another name")
    if asked.requirements is None:
        if name not in _BUNDLED:
            raise ValueError(f"environment {name} requires `requirements`; bundled: {', '.join(_BUNDLED)}")
        return _BUNDLED[name]()
    try:
        text = asked.requirements.read_text()
    except OSError as error:
        raise ValueError(f"environment {name}: {asked.requirements}: {error.strerror}") from None
    return Recipe(name=name, requirements=text, preload=asked.preload)
