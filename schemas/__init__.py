"""Marshmallow schemas of request bodies: from JSON to values."""
