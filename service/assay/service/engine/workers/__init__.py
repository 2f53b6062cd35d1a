"""Lanes: confined worker processes that run verifiers, and the processes that start them."""
