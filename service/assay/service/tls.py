"""TLS of both ports: the certificate, and the authority that certificates of clients must come from (mutual TLS).

SIGHUP reads the certificate again: connections that are made afterwards use the new one.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import grpc

from assay.service.settings import Settings


class UnusableCertificate(ValueError):
    """A file of the TLS settings cannot be used."""


class Tls:
    """The service's certificate, for HTTP (an `SSLContext`) and gRPC (credentials)."""

    def __init__(self, cert: Path, key: Path, client_ca: Path | None) -> None:
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._parts: tuple[bytes, bytes, bytes | None] = (b"", b"", None)
        self.reload()
        if client_ca is not None:
            self.context.verify_mode = ssl.CERT_REQUIRED
            _trust(self.context, client_ca)

    @classmethod
    def of(cls, settings: Settings) -> Tls | None:
        """Return the TLS of the settings, or None without one. Raises `UnusableCertificate`."""
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return cls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)

    def reload(self) -> None:
        """Read certificate and key again. Raises `UnusableCertificate`; those in use then stay."""
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _load(trial, self._cert, self._key)
        _load(self.context, self._cert, self._key)
        roots = None if self._client_ca is None else _read(self._client_ca)
        self._parts = (_read(self._key), _read(self._cert), roots)

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials of a gRPC server that asks for the current certificate at each handshake."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(), self._configuration, require_client_authentication=self._client_ca is not None
        )

    def _configuration(self) -> grpc.ServerCertificateConfiguration:
        key, cert, roots = self._parts
        return grpc.ssl_server_certificate_configuration([(key, cert)], root_certificates=roots)


def _load(context: ssl.SSLContext, cert: Path, key: Path) -> None:
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise UnusableCertificate(f"tls_cert, tls_key: not a PEM certificate and its key ({_said(error)})") from None


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _trust(context: ssl.SSLContext, path: Path) -> None:
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as error:
        raise UnusableCertificate(f"tls_client_ca: not a PEM certificate ({_said(error)})") from None


def _said(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnusableCertificate(f"{path.name}: {error.strerror}") from None
