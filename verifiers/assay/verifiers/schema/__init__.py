"""The `schema` verifier: JSON that is valid and, with a gold, equal."""

from assay.verifiers.schema.verifier import SchemaVerifier

__all__ = ["SchemaVerifier"]
