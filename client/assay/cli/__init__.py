"""The command line: the command loader, and the commands that need only the client."""

from assay.cli.frame import main

__all__ = ["main"]
