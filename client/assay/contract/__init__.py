"""The scoring contract as models: items, results, and one reference model per verifier."""
