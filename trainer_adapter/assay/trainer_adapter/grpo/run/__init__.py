"""The training run: configuration, loop, checkpoints, records and reports."""
