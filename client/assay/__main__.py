"""`python -m assay` is the command line."""

from assay.client.cli import main

main()
