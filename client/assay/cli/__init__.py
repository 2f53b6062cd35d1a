"""The command line: a frame, and the commands that need nothing but the client."""

from assay.cli.frame import main

__all__ = ["main"]
