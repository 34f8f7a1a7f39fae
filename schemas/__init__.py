"""Marshmallow schemas of every request and answer: JSON to values and back."""
