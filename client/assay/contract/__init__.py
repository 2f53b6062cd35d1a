"""The scoring contract as models: items, results, and a reference per verifier."""
