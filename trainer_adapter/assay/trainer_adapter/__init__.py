"""Faces for trainers."""
