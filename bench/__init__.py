"""Benchmarks: each a command that anyone can repeat, each figure beside a peer in the same run.

    python -m bench                # all
    python -m bench path exact     # some

A module here has `main() -> None` and prints its table. Times are CPU of the processes concerned, as the
kernel counts it; these machines are noisy, so read the ratios. What needs a package that is not there
says so and is left out.
"""
