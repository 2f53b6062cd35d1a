"""The sub-commands that work on datasets."""
