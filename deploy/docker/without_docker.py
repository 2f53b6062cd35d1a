"""Execute a Dockerfile without Docker: each stage in a debootstrapped chroot, as root on a Debian host.

    python deploy/docker/without_docker.py FOLDER [NAME=VALUE...]

FOLDER/0, FOLDER/1 … are the stages' roots; the last is the image. For machines without a container engine: it shows
that
every RUN and COPY works. Layers, HEALTHCHECK and ENTRYPOINT are not covered; ENV and USER are written to
FOLDER/environment for running something in the image.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITE = re.compile(r"debian:([a-z]+)-slim")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield (WORD, rest) in order, without comments and with continued lines joined."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")))
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        yield word.upper(), rest.strip()


def filled(text: str, values: dict[str, str]) -> str:
    """`${NAME}` replaced."""
    return re.sub(r"\$\{(\w+)\}", lambda match: values.get(match[1], ""), text)


def chrooted(root: Path, command: str, folder: str, environment: dict[str, str]) -> None:
    """Run a command in a stage. Raises CalledProcessError."""
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    passed = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_CERT", "SSL_CERT"))}
    script = f"cd {folder or '/'} && {command}"
    subprocess.run(["chroot", root, "/bin/sh", "-ec", script], check=True, env=base | passed | environment)


def build(folder: Path, given: dict[str, str]) -> None:
    """All stages."""
    values, stages, environment, user, folder_now = dict(given), {}, {}, "0", "/"
    root = folder
    for word, rest in instructions((Path(__file__).parent / "Dockerfile").read_text()):
        rest = filled(rest, values)
        if word == "ARG":
            name, _, default = rest.partition("=")
            values.setdefault(name, default.strip('"'))
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            root, environment, folder_now = folder / str(len(stages)), {}, "/"
            stages[name or str(len(stages))] = root
            root.mkdir(parents=True)
            _based(root, base)
        elif word == "RUN":
            chrooted(root, rest, folder_now, environment)
        elif word == "WORKDIR":
            folder_now = rest
            (root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            environment |= dict(pair.split("=", 1) for pair in rest.split())
        elif word == "USER":
            user = rest
        elif word == "COPY":
            _copied(root, rest, folder_now, stages)
    (folder / "environment").write_text(json.dumps({"user": user, "root": str(root), "environment": environment}))


def _based(root: Path, base: str) -> None:
    suite = SUITE.fullmatch(base)
    if suite is None:
        raise SystemExit(f"only debian:SUITE-slim can be made here, not {base}")
    made = root.parent / f"base-{suite[1]}"
    if not made.exists():
        subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", suite[1], made], check=True)
    subprocess.run(["cp", "-a", f"{made}/.", root], check=True)


def _copied(root: Path, rest: str, folder_now: str, stages: dict[str, Path]) -> None:
    source = ROOT
    if rest.startswith("--from="):
        name, _, rest = rest.removeprefix("--from=").partition(" ")
        source = stages[name]
    *froms, to = rest.split()
    target = root / os.path.normpath(os.path.join(folder_now, to)).lstrip("/")
    for entry in froms:
        origin = source / entry.lstrip("/")
        if origin.is_dir():
            shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target)


if __name__ == "__main__":
    build(Path(sys.argv[1]), dict(pair.split("=", 1) for pair in sys.argv[2:]))
