"""TLS and the password come from the URL: only a Redis with the right certificate is used."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..http.conftest import exact
from .conftest import PASSWORD, RedisServer, metric, replica
from .test_replicas import score


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    files = folder / f"{name}.crt", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that speaks TLS only."""
    if not (shutil.which("redis-server") and shutil.which("openssl")):
        pytest.skip("redis-server and openssl are needed")
    crt, key = certificate(tmp_path, "redis")
    options = ["--tls-port", "{port}", "--port", "0", "--tls-cert-file", str(crt), "--tls-key-file", str(key)]
    options += ["--tls-ca-cert-file", str(crt), "--tls-auth-clients", "no"]
    one = RedisServer(*options, url=f"rediss://:{PASSWORD}@localhost:{{port}}/0?ssl_ca_certs={crt}")
    yield one
    one.kill()


async def test_only_a_redis_with_the_right_certificate_is_used(tls: RedisServer, tmp_path: Path) -> None:
    async with replica(tls, timeout_ms=2000) as one:
        await score(one, exact("5"))
        assert (await metric(one, "assay_redis_up"), await metric(one, "assay_redis_misses_total")) == (1, 1)
    tls.url = tls.url.replace("redis.crt", certificate(tmp_path, "stranger")[0].name)
    async with replica(tls, timeout_ms=2000) as one:
        assert (await score(one, exact("5")))[0]["reward"] == 0.0
        assert await metric(one, "assay_redis_up") == 0
