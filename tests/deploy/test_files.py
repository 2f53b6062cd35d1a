"""The files of deploy/ are valid: linted, read by the real tools if installed, and consistent with the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib
import yaml

from assay.service.auth import KeyRing
from assay.service.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
DOCKERFILE = (DEPLOY / "docker/Dockerfile").read_text()


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, cwd=ROOT, check=False)


def test_the_dockerfile_is_linted() -> None:
    told = run(BIN / "hadolint", "--failure-threshold", "style", DEPLOY / "docker/Dockerfile")
    assert told.returncode == 0, told.stdout


def test_the_image_contains_every_part_and_no_secrets() -> None:
    parts = set(re.findall(r"^COPY (\w+) \w+$", DOCKERFILE, re.MULTILINE))
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert parts == set(pyproject["tool"]["hatch"]["build"]["dev-mode-dirs"])
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*" and parts <= {line.removeprefix("!") for line in ignored}


def test_the_image_has_the_required_apt_packages() -> None:
    needed = [line.split()[0] for line in (ROOT / "tools/apt.txt").read_text().splitlines() if "linked" in line]
    assert needed and all(package in DOCKERFILE for package in needed)


def test_the_image_runs_as_an_ordinary_user_with_a_health_check() -> None:
    assert re.search(r"^USER [1-9]\d+$", DOCKERFILE, re.MULTILINE) and "/readyz" in DOCKERFILE


def test_the_compose_file_is_valid(tmp_path: Path) -> None:
    told = run(BIN / "docker-compose", "-f", DEPLOY / "compose.yaml", "config", "-q", HOME=str(tmp_path))
    assert told.returncode == 0, told.stderr


def test_the_compose_file_and_the_image_agree() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    uid = re.search(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert uid is not None and f"uid={uid[1]}" in str(services["assay"]["tmpfs"])
    assert "HEALTHCHECK" in DOCKERFILE and "healthcheck" in services["redis"]
    assert all(service["cap_drop"] == ["ALL"] for service in services.values())
    assert all(port.startswith("127.0.0.1:") for port in services["assay"]["ports"])
    known = {name.upper() for name in Settings.model_fields} | {"CONFIG"}
    assert {name.removeprefix("ASSAY_") for name in services["assay"]["environment"]} <= known


def test_the_seccomp_profile_allows_the_calls_of_a_jail() -> None:
    profile = json.loads((DEPLOY / "docker/seccomp.json").read_text())
    denied = {name for entry in profile["syscalls"] for name in entry["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW" and {entry["action"] for entry in profile["syscalls"]} == {
        "SCMP_ACT_ERRNO"
    }
    assert not denied & {"unshare", "clone", "clone3", "mount", "umount2", "pivot_root", "setns", "seccomp", "prctl"}
    assert denied >= {"bpf", "init_module", "kexec_load", "open_by_handle_at", "userfaultfd", "perf_event_open"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/assay.service").read_text()
    unit = tmp_path / "assay.service"
    unit.write_text(text.replace("/opt/assay/bin/assay", "/bin/true"))
    told = run("systemd-analyze", "verify", unit)
    assert told.returncode == 0 and not told.stderr.strip(), told.stderr
    hardened = run("systemd-analyze", "security", "--offline=true", "--threshold=40", unit)
    assert hardened.returncode == 0, hardened.stdout[-300:]


def test_the_secrets_are_created_once_and_are_valid_settings(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    run(DEPLOY / "secrets.sh", folder, "redis.example")
    made = {path.name: path.read_text() for path in folder.iterdir()}
    assert (folder.stat().st_mode & 0o777, (folder / "key").stat().st_mode & 0o777) == (0o700, 0o600)
    settings = Settings(**tomllib.loads(made["assay.toml"]), key_file=folder / "keys")
    assert settings.redis is not None and "redis.example" in settings.redis.url.get_secret_value()
    assert KeyRing(settings).owner(f"Bearer {made['key'].strip()}")
    run(DEPLOY / "secrets.sh", folder)
    assert (folder / "key").read_text() == made["key"]


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", (ROOT / "docs/deploy.md").read_text(), re.DOTALL))
def test_the_settings_of_the_page_are_valid(block: str) -> None:
    Settings(**tomllib.loads(block))
