"""TLS of the client: whom it trusts (`ca_file`), and what it shows of itself (`client_cert`, `client_key`).

Each defaults to an environment variable: ASSAY_CA_FILE, ASSAY_CLIENT_CERT, ASSAY_CLIENT_KEY.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from assay.client.errors import ConfigurationError

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """PEM files; None: the certificates that the system trusts, or no certificate of the client."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, ca: PathLike | None, cert: PathLike | None, key: PathLike | None) -> TlsFiles:
        """Return the files given, or those that the environment names. Raises `ConfigurationError`."""
        files = cls(
            ca=_path(ca, "ASSAY_CA_FILE"), cert=_path(cert, "ASSAY_CLIENT_CERT"), key=_path(key, "ASSAY_CLIENT_KEY")
        )
        if (files.cert is None) != (files.key is None):
            raise ConfigurationError("client_cert and client_key belong together")
        return files

    def context(self) -> ssl.SSLContext | None:
        """Return a context for HTTPS, or None where no file is named. Raises `ConfigurationError`."""
        if self.ca is None and self.cert is None:
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"ca_file, client_cert, client_key: not usable PEM files ({error})") from None
        return context

    def read(self) -> dict[str, bytes | None]:
        """Return the arguments of `grpc.ssl_channel_credentials`. Raises `ConfigurationError`."""
        names = {"root_certificates": self.ca, "certificate_chain": self.cert, "private_key": self.key}
        try:
            return {name: path.read_bytes() if path else None for name, path in names.items()}
        except OSError as error:
            raise ConfigurationError(f"{error.filename}: {error.strerror}") from None


def _path(given: PathLike | None, variable: str) -> Path | None:
    name = given or os.environ.get(variable)
    return Path(name) if name else None
