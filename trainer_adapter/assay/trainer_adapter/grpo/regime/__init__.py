"""The regimes: the coordinator between pool, verdicts and buffer, and the batches that it gives to the trainer."""
