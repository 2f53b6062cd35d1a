"""Run one untrusted program, isolated."""
