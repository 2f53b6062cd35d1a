"""Benchmarks: each is a reproducible command, with every figure measured next to a peer in the same run.

    python -m bench                # all
    python -m bench path exact     # selected ones

A module here has `main() -> None` and prints its table. Times are CPU times of the processes
involved, from the kernel; machines are noisy, so compare the ratios. A benchmark whose package is not installed reports
that and is skipped.
"""
