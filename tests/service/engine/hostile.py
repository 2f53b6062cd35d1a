"""A plugin whose rule does what its completion says: every way to break the lane that judges it."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from assay.verifiers import Verdict, Verifier, verifier
from assay.verifiers.plugin import OpenReference


def spin() -> None:
    while True:
        pass


def spin_in_c() -> None:
    sum(range(10**12))


def deep(n: int = 0) -> int:
    return deep(n + 1) + 1


def swallow() -> None:
    while True:
        try:
            while True:
                pass
        except Exception:
            continue


ATTACKS: dict[str, Any] = {
    "abort": os.abort,
    "segv": lambda: os.kill(os.getpid(), signal.SIGSEGV) or os.abort(),
    "exit0": lambda: os._exit(0),
    "exit1": lambda: os._exit(1),
    "system_exit": lambda: (_ for _ in ()).throw(SystemExit(0)),
    "raise": lambda: 1 / 0,
    "memory": lambda: bytearray(64 << 30),
    "memory_slow": lambda: [bytearray(1 << 24) for _ in range(10**6)],
    "recursion": deep,
    "spin": spin,
    "spin_in_c": spin_in_c,
    "swallow": swallow,
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "subprocess": lambda: subprocess.run(["true"], check=True),
    "socket": lambda: socket.socket(),
    "write": lambda: Path("/tmp/assay-escape").write_text("x"),
    "read_secrets": lambda: Path("/etc/shadow").read_text(),
    "close_fds": lambda: os.closerange(3, 256) or spin(),
}


@verifier(version=1)
def obey(completion: str, reference: dict[str, Any]) -> float:
    """Does what the completion says, else whether it holds the word."""
    if completion in ATTACKS:
        ATTACKS[completion]()
    if completion.startswith("burn "):
        until = time.process_time() + float(completion.split()[1])
        while time.process_time() < until:
            pass
    if completion.startswith("sleep "):
        time.sleep(float(completion.split()[1]))
    return float(reference["word"] in completion)


@verifier(version=2)
def broken(completion: str, reference: dict[str, Any]) -> float:
    """Fails whatever it is given."""
    raise RuntimeError("a bug of the verifier")


@verifier(version=1)
def deadly(completion: str, reference: dict[str, Any]) -> float:
    """Dies whatever it is given."""
    os.abort()


@verifier(version=1)
def unbounded(completion: str, reference: dict[str, Any]) -> float:
    """No number."""
    return float("nan")


@verifier(version=1)
def environment(completion: str, reference: dict[str, Any]) -> float:
    """1 if the lane's environment holds nothing of the caller's."""
    return float("ASSAY_API_KEY" not in os.environ and "HOME" not in os.environ)


class Picky(Verifier[OpenReference, dict[str, Any]]):
    """Breaks in `prepare` where the reference says so."""

    name = "picky"
    version = 1
    reference_model = OpenReference
    reads = frozenset({"completion", "scores", "final_state"})

    def prepare(self, reference: OpenReference) -> dict[str, Any]:
        spec = dict(reference.model_extra or {})
        if spec.get("prepare") in ATTACKS:
            ATTACKS[spec["prepare"]]()
        return spec

    def verify(self, spec: dict[str, Any], candidate: Any) -> Verdict:
        extracted = {"state": candidate.final_state, "scores": dict(candidate.scores), "spec": spec}
        return Verdict(reward=1.0, score=1.0, reason="equal", extracted=extracted, flags=("seen",))
