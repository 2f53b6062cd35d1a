"""Settings of the state that replicas share, and of quotas (which also apply without Redis, per replica)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

SECRET_CHARS = 32


class RedisSettings(BaseModel):
    """`[redis]`: the second level of the cache, uploaded references, quotas over all replicas."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr = Field(description="`redis://` or `rediss://` (TLS), with user and password.")
    secret: SecretStr = Field(description="Authenticates entries (HMAC): 32 characters or more, equal on all replicas.")
    timeout_ms: float = Field(5.0, gt=0, description="Approximate time that a request of 256 items may wait for Redis.")
    worth_us: float = Field(
        100.0,
        ge=0,
        description="Minimum cost (µs, by verifier) of a verdict to be shared: cheaper ones are recomputed faster.",
    )
    ttl_s: int = Field(7 * 86400, gt=0, description="Seconds that an entry is kept.")
    entry_bytes: int = Field(65536, gt=0, description="A larger verdict is not shared.")
    prefix: str = Field("assay", pattern="^[A-Za-z0-9_.-]+$", description="Prefix of all names in Redis.")

    @field_validator("url")
    @classmethod
    def _redis(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        return value

    @field_validator("secret")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < SECRET_CHARS:
            raise ValueError(f"must have at least {SECRET_CHARS} characters")
        return value


class QuotaSettings(BaseModel):
    """`[quota]`: limits of each key in a window of time. Unset: no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: int | None = Field(None, gt=0, description="Items that a key may send in a window.")
    cpu_s: float | None = Field(None, gt=0, description="Seconds of scoring that a key may use in a window.")
    window_s: int = Field(
        3600, gt=0, description="Length of a window in seconds; windows start at its multiples in Unix time."
    )

    @property
    def any(self) -> bool:
        """Whether any limit is set."""
        return self.items is not None or self.cpu_s is not None
