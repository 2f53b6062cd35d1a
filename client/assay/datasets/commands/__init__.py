"""The commands of `assay` that work on datasets."""
