"""From a tree to a typed value."""
