"""The service's settings: one frozen class, from `ASSAY_` variables, then a TOML file, then defaults.

`ASSAY_PORT=9000`, or in the file named by `--config` or `ASSAY_CONFIG`: `port = 9000`. Nested settings:
`ASSAY_LIMITS__ITEMS=512`, or a `[limits]` table. Keys are kept as SHA-256 (`sha256:HEX`); a plain key is hashed when it
is read. `key_file`: one key per line, read again on SIGHUP.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from assay.sandbox import Settings as Sandbox
from assay.sandbox import default_state_dir
from assay.service.compat.settings import CompatSettings
from assay.service.engine.settings import EngineSettings, Limits, default_lanes, default_slots
from assay.service.environments import Environments, recipes
from assay.service.replicas.settings import QuotaSettings, RedisSettings
from assay.service.shadow import ShadowSettings

MIN_KEY_CHARS = 8
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_DEFAULTS = Limits()


class LimitSettings(BaseModel):
    """Limits of what a caller may send. A value above one is refused, never clamped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body_bytes: int = Field(_DEFAULTS.body_bytes, gt=0, description="Maximum size of a request's body.")
    completion_bytes: int = Field(_DEFAULTS.completion_bytes, gt=0, description="Maximum size of a completion.")
    reference_bytes: int = Field(_DEFAULTS.reference_bytes, gt=0, description="Maximum size of a reference.")
    items: int = Field(_DEFAULTS.items, gt=0, description="Maximum number of items in a request.")
    queue_items: int = Field(_DEFAULTS.queue_items, gt=0, description="Maximum number of waiting items; beyond it 429.")
    queue_bytes: int = Field(_DEFAULTS.queue_bytes, gt=0, description="Maximum size of all waiting items.")
    timeout_s: float = Field(_DEFAULTS.timeout_s, gt=0, description="Ceiling of `options.timeout_s`.")
    cpu_s: float = Field(_DEFAULTS.cpu_s, gt=0, description="Ceiling of `options.cpu_s`.")
    uploaded_bytes: int = Field(_DEFAULTS.uploaded_bytes, gt=0, description="Maximum size of all uploaded references.")
    inflight_bytes: int = Field(
        _DEFAULTS.inflight_bytes, gt=0, description="Maximum size of all bodies in flight; beyond it 429."
    )
    read_s: float = Field(
        _DEFAULTS.read_s, gt=0, description="Seconds for a head or a body, and further ones for each 16 KiB."
    )


class Settings(BaseSettings):
    """All settings of `assay serve`."""

    model_config = SettingsConfigDict(
        env_prefix="ASSAY_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )
    config_file: ClassVar[Path | None] = None

    host: str = Field("127.0.0.1", description="Address to bind; addresses beyond loopback require keys.")
    port: int = Field(8700, ge=0, le=65535, description="Port; 0 chooses a free one.")
    grpc_port: int | None = Field(None, ge=0, le=65535, description="Also serve gRPC on this port.")
    uds: Path | None = Field(None, description="Listen on a Unix socket (mode 0600) instead.")
    keys: tuple[SecretStr, ...] = Field((), description="API keys, plain or `sha256:HEX`.")
    key_file: Path | None = Field(None, description="File of further keys, one per line; read again on SIGHUP.")
    tls_cert: Path | None = Field(None, description="PEM certificate chain: HTTP and gRPC speak TLS; see service.md.")
    tls_key: Path | None = Field(None, description="PEM key of `tls_cert`, not encrypted; both read again on SIGHUP.")
    tls_client_ca: Path | None = Field(
        None, description="PEM authority: only clients with a certificate of it may connect (mutual TLS)."
    )
    allowed_hosts: tuple[str, ...] = Field((), description="Further Host names that are accepted.")
    allowed_origins: tuple[str, ...] = Field((), description="Origins of pages that may send POST requests.")
    lanes: int = Field(default_factory=default_lanes, gt=0, description="Number of lanes (worker processes).")
    verifiers: tuple[str, ...] = Field((), description="Plugins: files, modules or entry points.")
    cache_mb: int = Field(64, ge=0, description="Size of the verdict cache.")
    lane_memory_mb: int = Field(2048, ge=256, description="Address space of a lane.")
    drain_s: float = Field(30.0, ge=0, description="Seconds to finish running work after SIGTERM.")
    lame_duck_s: float = Field(
        0.0, ge=0, description="Seconds after SIGTERM in which `/readyz` is 503 and requests are still accepted."
    )
    sandbox_backends: tuple[str, ...] = Field(
        ("nsjail",), description="Isolation backends that may be used, in order; empty: programs are never run."
    )
    sandbox_slots: int = Field(
        default_factory=default_slots,
        gt=0,
        description="Maximum number of concurrent programs; by default no more than one for each GiB of memory.",
    )
    sandbox_environments: Environments = Field(
        {}, description="Packages that programs may import, by name: `{requirements, preload}`; see sandbox.md."
    )
    sandbox_state: Path | None = Field(None, description="Directory of images and environments; see sandbox.md.")
    unsafe_no_isolation: bool = Field(False, description="Allow the backend `process`, which isolates nothing.")
    warm: tuple[str, ...] = Field((), description="Modules imported before lanes are forked, so that they share them.")
    limits: LimitSettings = LimitSettings()
    redis: RedisSettings | None = None
    quota: QuotaSettings = QuotaSettings()
    wires: CompatSettings = CompatSettings()
    shadow: ShadowSettings | None = Field(
        None, description="Another version that scores a share of the requests; see service.md."
    )

    @model_validator(mode="after")
    def _certificate_and_key(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key belong together")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ValueError("tls_client_ca needs tls_cert and tls_key")
        return self

    @field_validator("sandbox_environments")
    @classmethod
    def _can_be_had(cls, value: Environments) -> Environments:
        recipes(value)
        return value

    @field_validator("keys")
    @classmethod
    def _are_keys(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for number, key in enumerate(value, 1):
            try:
                hashed(key.get_secret_value())
            except ValueError as error:
                raise ValueError(f"key {number}: {error}") from None
        return value

    @field_validator("keys", mode="before")
    @classmethod
    def _one_key(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) and not value.startswith("[") else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order: command line, environment, TOML file."""
        toml = TomlConfigSettingsSource(settings_cls, toml_file=cls.config_file)
        return init_settings, env_settings, toml

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service. gRPC has a port even if HTTP has a Unix socket."""
        return (
            (self.uds is not None and self.grpc_port is None) or self.host in LOOPBACK or self.host.startswith("127.")
        )

    def engine(self) -> EngineSettings:
        """Return the engine's settings."""
        return EngineSettings(
            lanes=self.lanes,
            limits=Limits(**self.limits.model_dump()),
            warm=self.warm,
            plugins=self.verifiers + self.wires.plugins,
            cache_bytes=self.cache_mb * 1024 * 1024,
            lane_memory_mb=self.lane_memory_mb,
            sandbox=self._sandbox(),
        )

    def _sandbox(self) -> Sandbox | None:
        if not self.sandbox_backends:
            return None
        return Sandbox(
            backends=self.sandbox_backends,
            slots=self.sandbox_slots,
            unsafe_no_isolation=self.unsafe_no_isolation,
            environments=recipes(self.sandbox_environments),
            state_dir=self.sandbox_state or default_state_dir(),
        )


def load(config: Path | None, **overrides: Any) -> Settings:
    """Return settings from overrides, environment and a TOML file. Raises `ValidationError`, `OSError`,
    `ValueError`.
    """
    named = config or (Path(os.environ["ASSAY_CONFIG"]) if "ASSAY_CONFIG" in os.environ else None)
    if named is not None and not named.is_file():
        raise FileNotFoundError(f"no such settings file: {named}")
    kind = type("Settings", (Settings,), {"config_file": named, "__doc__": Settings.__doc__})
    settings: Settings = kind(**{key: value for key, value in overrides.items() if value is not None})
    return settings


def hashed(key: str) -> str:
    """Return the SHA-256 of a key in hex; `sha256:HEX` is returned unchanged. Raises `ValueError` for what is no key.

    The error never holds the key.
    """
    if key.startswith("sha256:"):
        digest = key.removeprefix("sha256:")
        if not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
            raise ValueError("sha256: needs 64 hexadecimal digits after it")
        return digest.lower()
    if not re.fullmatch(r"[!-~]+", key):
        raise ValueError("it must be of visible ASCII characters, without spaces or a byte order mark")
    if len(key) < MIN_KEY_CHARS:
        raise ValueError(f"it is shorter than {MIN_KEY_CHARS} characters; --generate-key makes a long one")
    return hashlib.sha256(key.encode()).hexdigest()
