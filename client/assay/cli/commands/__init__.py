"""The sub-commands that need only the client: check, demo, explain, score, verifiers."""
