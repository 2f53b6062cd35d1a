"""Advantages, token weights, losses and their batches, in torch."""
