"""The environments of the processes that a sandbox starts: listed variables only, so that no secret is handed on.

A service's own environment holds its keys and passwords. Its children get what they need by name; a variable that
nobody has thought of is left out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_ALWAYS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ", "TMPDIR")
_FIXED = {"LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
_PIP = frozenset(
    {
        *_ALWAYS,
        *("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NETRC", "VIRTUAL_ENV"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"),
    }
)


def for_supervisor(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a supervisor, from the caller's own."""
    own = os.environ if own is None else own
    return _FIXED | {name: own[name] for name in _ALWAYS if name in own}


def for_pip(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of pip, which runs build scripts of packages: its options, proxies, compilers."""
    own = os.environ if own is None else own
    kept = {name: value for name, value in own.items() if name.upper() in _PIP or name.startswith("PIP_")}
    return {"LANG": "C.UTF-8"} | kept
