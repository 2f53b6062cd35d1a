"""Whether two typed values are equal."""
