"""The HTTP application: routes, access checks, problem documents, OpenAPI."""
