"""The gRPC face: `assay.v1.Scorer` over the same front as HTTP, with the same limits, keys and errors."""
