"""Collected only where stock gRPC tools are, and our package is not."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("grpc_tools") and not find_spec("assay") else ["*"]
