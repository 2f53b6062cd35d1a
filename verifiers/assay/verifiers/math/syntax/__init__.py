"""From text to tokens to a tree."""
