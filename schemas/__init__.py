"""Marshmallow schemas of every request and answer: JSON data to value objects and back.

Of `deeds` it may import only values, limits, errors and the raw-output grammar; never Flask.
"""
