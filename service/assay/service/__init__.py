"""The scoring service: engine, HTTP front, settings."""
