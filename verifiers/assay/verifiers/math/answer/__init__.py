"""Where the answer of a mathematical completion stands."""
