#!/usr/bin/env bash
# Set up a fresh Debian or Ubuntu machine: a suitable Python, the apt packages that the
# sandbox needs, and `.venv` with the project in it. Safe to run again; quick when nothing changed.
#   tools/setup.sh EXTRA [VENV]     EXTRA: an extra of pyproject.toml (default dev)
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${1:-dev}
venv=${2:-.venv}
say() { printf 'setup: %s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"
  else return 1
  fi
}

# --- apt packages ----------------------------------------------------------------------------
apt_packages() { awk '!/^#/ && NF {print $1}' tools/apt.txt; }

missing_packages() {
  for package in $(apt_packages); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

install_packages() {
  local missing
  missing=$(missing_packages | tr '\n' ' ')
  [ -n "${missing// /}" ] || return 0
  if command -v apt-get >/dev/null && as_root true; then
    say "installing $missing"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || say "apt-get update failed; trying on"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
  else
    say "not root and no sudo; the sandbox needs these packages:"
    say "  sudo apt-get install -y --no-install-recommends $missing"
  fi
}

# --- Python >= 3.12 --------------------------------------------------------------------------
suitable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(not sys.version_info >= (3, 12))' >/dev/null 2>&1; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.12 python3.13 python3.14 python3 \
      "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python "$HOME"/.local/share/uv/python/cpython-3.1[2-9]*/bin/python; do
    [ -n "$candidate" ] && suitable "$candidate" && { echo "$candidate"; return 0; }
  done
  return 1
}

install_python() {
  local version
  for version in 3.12 3.13 3.14; do
    if apt-cache policy "python$version" 2>/dev/null | grep -q 'Candidate: [0-9]'; then
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "python$version" "python$version-venv" >&2 && return 0
    fi
  done
  # Debian 12 has only 3.11: uv installs its own interpreter.
  local tmp=.venv-uv
  if python3 -m venv "$tmp" >/dev/null 2>&1 && "$tmp/bin/pip" -q install uv >&2; then
    "$tmp/bin/uv" python install 3.12 >&2 && return 0
  fi
  return 1
}

python=$(find_python) || { say "no Python >= 3.12 found; installing one"; install_python || true; python=$(find_python) || {
  say "Assay's engine needs Python >= 3.12 with venv. Install one, then set PYTHON=/path/to/python:"
  say "  Debian 13 or Ubuntu 24.04:  sudo apt-get install -y python3-venv"
  say "  elsewhere:                  pipx run uv python install 3.12"
  exit 1
}; }

install_packages

# --- the environment -------------------------------------------------------------------------
stamp="$venv/.setup-$extra"
want=$( (cat pyproject.toml tools/setup.sh; cat requirements.txt 2>/dev/null || true) | sha256sum | cut -d' ' -f1)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then exit 0; fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
constraint=()
[ -s requirements.txt ] && constraint=(-c requirements.txt)
say "installing assay[$extra] into $venv"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check "${constraint[@]}" -e ".[$extra]" >&2
echo "$want" > "$stamp"
