"""The command line: a frame, and the commands that need nothing but the client."""

from assay.client.cli._frame import main

__all__ = ["main"]
