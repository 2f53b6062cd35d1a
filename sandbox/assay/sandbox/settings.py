"""Settings of a sandbox: which backends may be used, how many slots, where state lies."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.sandbox.environments import PLAIN, Environment, Recipe
from assay.sandbox.host.image import default_state_dir, open_state_dir


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an operator chooses. `backends` are tried in order; none is ever tried that is not named.

    `runs_per_jail`: a jail is replaced after so many runs. `uid_base`: as root, jails get host uids
    from here on. `environments` adds named sets of packages to `plain`. `unsafe_no_isolation` must be
    set for the `process` backend.
    """

    backends: tuple[str, ...] = ("nsjail",)
    slots: int = 2
    state_dir: Path = field(default_factory=default_state_dir)
    runs_per_jail: int = 1000
    jails_per_slot: int = 6
    uid_base: int = 600_000
    environments: tuple[Environment | Recipe, ...] = ()
    unsafe_no_isolation: bool = False

    def installed(self) -> Settings:
        """These settings with every environment installed. Raises `Unavailable`."""
        if not any(isinstance(item, Recipe) for item in self.environments):
            return self
        state = open_state_dir(self.state_dir)
        ready = (item.install(state) if isinstance(item, Recipe) else item for item in self.environments)
        return dataclasses.replace(self, environments=tuple(ready))

    def known_environments(self) -> dict[str, Environment]:
        """Installed environments by name."""
        ready = (item for item in self.environments if isinstance(item, Environment))
        return {environment.name: environment for environment in (PLAIN, *ready)}

    def to_json(self) -> str:
        """These settings as text, for the supervisor's command line."""
        return json.dumps(dataclasses.asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Settings written by `to_json`."""
        fields: dict[str, Any] = json.loads(text)
        fields["state_dir"] = Path(fields["state_dir"])
        fields["backends"] = tuple(fields["backends"])
        fields["environments"] = tuple(_environment(item) for item in fields["environments"])
        return cls(**fields)


def _environment(item: dict[str, Any]) -> Environment:
    site = item["site"]
    return Environment(name=item["name"], site=Path(site) if site else None, preload=tuple(item["preload"]))
