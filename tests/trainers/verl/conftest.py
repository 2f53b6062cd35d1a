"""Collected only where verl is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("verl") else ["*"]
