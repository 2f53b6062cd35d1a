#!/usr/bin/env bash
# Create one environment per trainer and run its tests. Packages are installed with uv: what two
# environments share (torch) is downloaded once and hard-linked. Quick when nothing changed.
#   tools/trainers.sh [NAME...]     NAME: stubs trl verl (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'trainers: %s\n' "$*" >&2; }
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false RAY_USAGE_STATS_ENABLED=0

test_tools=("pytest>=8.3" "pytest-asyncio>=0.25" "pytest-timeout>=2.3")
requirements() {
  case $1 in
    stubs) printf '%s\n' "grpcio-tools>=1.70" ;;
    trl) printf '%s\n' torch==2.14.1 trl==1.16.0 -e ".[verify,grpc]" ;;
    verl) printf '%s\n' torch==2.14.1 verl==0.9.1 sandbox-fusion==0.3.7 -e ".[grpc]" ;;
    *) say "no such environment: $1"; exit 2 ;;
  esac
}
alone() { case $1 in verl) echo openrlhf==0.11.2 ;; esac; } # without its dependencies: its client code needs none of them
folders() {
  case $1 in
    verl) echo tests/trainers/verl tests/trainers/compat ;;
    *) echo "tests/trainers/$1" ;;
  esac
}

uv() {
  [ -x .venv-uv/bin/uv ] || { "$python" -m venv .venv-uv && .venv-uv/bin/python -m pip install -qq --disable-pip-version-check uv; }
  .venv-uv/bin/uv "$@"
}

environment() {
  local name=$1 venv=.venv-$1 want
  want=$( (cat pyproject.toml; requirements "$name"; alone "$name") | sha256sum | cut -d' ' -f1)
  [ "$(cat "$venv/.setup" 2>/dev/null)" = "$want" ] && return 0
  say "installing $(requirements "$name" | head -2 | tr '\n' ' ')into $venv"
  uv venv -q --clear --python "$python" "$venv"
  # shellcheck disable=SC2046 # word splitting is intended
  uv pip install -q --python "$venv/bin/python" "${test_tools[@]}" $(requirements "$name")
  [ -z "$(alone "$name")" ] || uv pip install -q --no-deps --python "$venv/bin/python" "$(alone "$name")"
  echo "$want" > "$venv/.setup"
}

# The trainers use the Python of the main environment, at most 3.12: verl supports no later one.
python=$PWD/.venv/bin/python
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' || python=3.12
[ $# -gt 0 ] || set -- stubs trl verl
for name in "$@"; do
  environment "$name"
  say "$name"
  # shellcheck disable=SC2046
  ".venv-$name/bin/python" -m pytest -q --durations=5 -c tests/trainers/trainers.ini --rootdir . -p no:cacheprovider $(folders "$name")
done
