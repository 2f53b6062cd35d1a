"""Settings of what replicas share, and of quotas (which hold without Redis too, replica by replica)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

SECRET_CHARS = 32


class RedisSettings(BaseModel):
    """`[redis]`: the second level of the cache, uploaded references, quotas over all replicas."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr = Field(description="`redis://` or `rediss://` (TLS), with user and password.")
    secret: SecretStr = Field(description="Authenticates entries (HMAC): 32 characters or more, equal on all replicas.")
    timeout_ms: float = Field(5.0, gt=0, description="What a request of 256 items may wait for Redis, about.")
    worth_us: float = Field(
        100.0,
        ge=0,
        description="A verdict that costs less (µs, by verifier) is neither asked for nor written: it is found sooner.",
    )
    ttl_s: int = Field(7 * 86400, gt=0, description="How long an entry is kept.")
    entry_bytes: int = Field(65536, gt=0, description="A larger verdict is not shared.")
    prefix: str = Field("assay", pattern="^[A-Za-z0-9_.-]+$", description="What names in Redis begin with.")

    @field_validator("url")
    @classmethod
    def _redis(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("redis://, rediss:// or unix://")
        return value

    @field_validator("secret")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < SECRET_CHARS:
            raise ValueError(f"at least {SECRET_CHARS} characters")
        return value


class QuotaSettings(BaseModel):
    """`[quota]`: what each key may use in a window of time. Unset: no bound."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: int | None = Field(None, gt=0, description="Items that a key may send in a window.")
    cpu_s: float | None = Field(None, gt=0, description="Seconds of judging that a key may use in a window.")
    window_s: int = Field(3600, gt=0, description="The window; windows begin at its multiples of Unix time.")

    @property
    def any(self) -> bool:
        """Whether anything is bounded."""
        return self.items is not None or self.cpu_s is not None
