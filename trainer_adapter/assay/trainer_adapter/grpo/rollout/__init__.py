"""Prompts, generation and scoring of rollouts."""
