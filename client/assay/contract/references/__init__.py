"""One reference model per verifier."""
