"""The interface as an OpenAPI document."""
