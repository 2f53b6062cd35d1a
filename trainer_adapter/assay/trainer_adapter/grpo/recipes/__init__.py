"""Configurations that come with Assay, as data."""
