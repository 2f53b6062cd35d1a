"""The gRPC service `assay.v1.Scorer`, with the same front, limits, keys and errors as HTTP."""
