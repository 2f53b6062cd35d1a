"""Tickets, the fair queue, the verdict cache, and dispatch to lanes."""
