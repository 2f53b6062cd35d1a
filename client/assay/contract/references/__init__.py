"""One reference model per verifier: what right looks like."""
