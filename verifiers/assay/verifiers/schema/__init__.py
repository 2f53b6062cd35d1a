"""The `schema` verifier: JSON that is valid against a schema and, with a gold, equal to it."""

from assay.verifiers.schema.verifier import SchemaVerifier

__all__ = ["SchemaVerifier"]
