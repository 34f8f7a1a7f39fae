"""Marshmallow schemas of every request and answer.

JSON data to value objects and back.
"""
