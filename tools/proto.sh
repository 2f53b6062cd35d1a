#!/usr/bin/env bash
# Generate assay.contract's protobuf modules from service/proto/assay.proto.
#   tools/proto.sh [OUT]     OUT: default client/assay/contract
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-client/assay/contract}
.venv/bin/python -m grpc_tools.protoc -I service/proto --python_out="$out" --pyi_out="$out" assay.proto
