"""Adapters for trainers."""
