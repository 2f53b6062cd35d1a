"""From request bytes to validated work items, without reading inside a completion."""
