"""An authority and certificates of it, made by openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True)
class Pair:
    cert: Path
    key: Path


class Authority:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self.name = folder, name
        self.pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
        subject = ["-x509", "-days", "2", "-subj", f"/CN={name}"]
        self._openssl("req", *subject, *_EC, "-out", str(self.pair.cert), "-keyout", str(self.pair.key))

    def issue(self, name: str) -> Pair:
        """A certificate for localhost and 127.0.0.1 that servers and clients may use."""
        pair = Pair(self._folder / f"{self.name}-{name}.pem", self._folder / f"{self.name}-{name}.key")
        request, extensions = self._folder / "request", self._folder / "extensions"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self._openssl("req", "-new", "-subj", f"/CN={name}", *_EC, "-out", str(request), "-keyout", str(pair.key))
        signer = ["-CA", str(self.pair.cert), "-CAkey", str(self.pair.key), "-CAcreateserial", "-days", "2"]
        self._openssl("x509", "-req", "-in", str(request), *signer, "-extfile", str(extensions), "-out", str(pair.cert))
        return pair

    @staticmethod
    def _openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
