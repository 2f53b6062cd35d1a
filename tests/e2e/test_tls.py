"""TLS and mutual TLS over HTTP and gRPC: who is not trusted gets no answer, in either direction."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from assay.client import AssayError, Client, ConfigurationError

from ._certificates import Authority, Pair
from ._service import PLUGIN, assay, free_port

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is needed")
KEY = "a-key-of-twenty-chars"
ITEM = {"verifier": "exact", "completion": "1", "reference": {"mode": "string", "gold": "1", "extract": "whole"}}


@contextmanager
def secure(pair: Pair, clients: Authority | None = None) -> Iterator[tuple[psutil.Process, list[str]]]:
    """A service with keys and TLS; its process and its URLs."""
    ports = [free_port(), free_port()]
    files = {"ASSAY_TLS_CERT": str(pair.cert), "ASSAY_TLS_KEY": str(pair.key), "ASSAY_KEYS": json.dumps([KEY])}
    if clients is not None:
        files["ASSAY_TLS_CLIENT_CA"] = str(clients.pair.cert)
    arguments = ["--port", str(ports[0]), "--grpc-port", str(ports[1]), "--verifiers", PLUGIN, "--lanes", "1"]
    with assay("serve", *arguments, **files, ASSAY_SANDBOX_BACKENDS="[]") as server:
        deadline = time.monotonic() + 60
        while server.poll() is None and time.monotonic() < deadline and not listens(ports[0]):
            time.sleep(0.05)
        try:
            yield psutil.Process(server.pid), [f"https://127.0.0.1:{ports[0]}", f"grpcs://127.0.0.1:{ports[1]}"]
        finally:
            server.kill()
            server.communicate()


def listens(port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False


def reward(url: str, **files: Path) -> float | None:
    with Client(url, api_key=KEY, tries=1, **files) as client:
        return client.score([ITEM], deadline_s=20)[0].reward


def test_only_a_trusted_service_gets_the_key(tmp_path: Path) -> None:
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    with secure(ours.issue("server")) as (_, urls):
        for url in urls:
            assert reward(url, ca_file=ours.pair.cert) == 1.0
            for untrusted in ({}, {"ca_file": other.pair.cert}):
                with pytest.raises(AssayError):
                    reward(url, **untrusted)
            with pytest.raises(AssayError):
                reward(url.replace("https", "http").replace("grpcs", "grpc"))


def test_only_clients_of_the_authority_may_connect(tmp_path: Path) -> None:
    ours, clients, other = (Authority(tmp_path, name) for name in ("ours", "clients", "other"))
    good, bad = clients.issue("client"), other.issue("client")
    with secure(ours.issue("server"), clients) as (_, urls):
        for url in urls:
            known = {"ca_file": ours.pair.cert}
            assert reward(url, **known, client_cert=good.cert, client_key=good.key) == 1.0
            for shown in ({}, {"client_cert": bad.cert, "client_key": bad.key}):
                with pytest.raises(AssayError):
                    reward(url, **known, **shown)


def test_a_hangup_changes_the_certificate_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    used, after = old.issue("server"), new.issue("server")
    with secure(used) as (process, urls):
        used.cert.write_text("no certificate")
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.5)
        assert [reward(url, ca_file=old.pair.cert) for url in urls] == [1.0, 1.0]
        used.cert.write_bytes(after.cert.read_bytes())
        used.key.write_bytes(after.key.read_bytes())
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.5)
        assert [reward(url, ca_file=new.pair.cert) for url in urls] == [1.0, 1.0]


@pytest.mark.parametrize("what", ["missing", "empty", "binary", "swapped", "other key", "alone", "ca alone"])
def test_files_that_are_no_certificate_stop_the_start_with_a_message(tmp_path: Path, what: str) -> None:
    pair, other = Authority(tmp_path, "a").pair, Authority(tmp_path, "b").pair
    files = {"ASSAY_TLS_CERT": str(pair.cert), "ASSAY_TLS_KEY": str(pair.key)}
    if what == "missing":
        files["ASSAY_TLS_CERT"] = str(tmp_path / "nowhere.pem")
    elif what in ("empty", "binary"):
        pair.cert.write_bytes(b"" if what == "empty" else bytes(range(256)))
    elif what == "swapped":
        files = {"ASSAY_TLS_CERT": str(pair.key), "ASSAY_TLS_KEY": str(pair.cert)}
    elif what == "other key":
        files["ASSAY_TLS_KEY"] = str(other.key)
    elif what == "alone":
        del files["ASSAY_TLS_KEY"]
    else:
        files = {"ASSAY_TLS_CLIENT_CA": str(other.cert)}
    with assay("serve", "--port", "0", "--lanes", "1", **files, ASSAY_SANDBOX_BACKENDS="[]") as server:
        _, said = server.communicate(timeout=60)
    assert server.returncode == 2 and "tls_" in said and "Traceback" not in said, said


def test_the_command_line_has_key_and_certificates_as_options(tmp_path: Path) -> None:
    ours, clients = Authority(tmp_path, "ours"), Authority(tmp_path, "clients")
    mine, key = clients.issue("client"), tmp_path / "my.key"
    key.write_text(f"{KEY}\n")
    options = ["--api-key-file", str(key), "--ca-file", str(ours.pair.cert)]
    options += ["--client-cert", str(mine.cert), "--client-key", str(mine.key)]
    with secure(ours.issue("server"), clients) as (_, urls):
        for url in urls:
            command = [sys.executable, "-m", "assay", "score", "-", "--quiet", "--server", url, *options]
            done = subprocess.run(command, input=json.dumps(ITEM), capture_output=True, text=True, timeout=60)
            assert json.loads(done.stdout)["result"]["reward"] == 1.0, done.stderr


@pytest.mark.parametrize("content", [b"", b"\n\n", b"two\nlines", b"\xff\xfe", b"a b", None])
def test_a_key_file_without_one_key_is_a_message(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "my.key"
    if content is not None:
        path.write_bytes(content)
    command = [
        sys.executable,
        "-m",
        "assay",
        "verifiers",
        "--server",
        "http://127.0.0.1:1",
        "--api-key-file",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--api-key-file" in done.stderr and "Traceback" not in done.stderr


def test_half_of_a_client_certificate_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="belong together"),
        Client("https://x", client_cert=tmp_path) as client,
    ):
        client.score([ITEM])
