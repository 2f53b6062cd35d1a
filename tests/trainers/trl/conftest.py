"""Collected only where TRL is installed; one thread, so that two noisy cores do not spin."""

from importlib.util import find_spec

HERE = find_spec("trl") is not None and find_spec("torch") is not None
collect_ignore_glob = [] if HERE else ["*"]

if HERE:
    import torch

    torch.set_num_threads(1)
