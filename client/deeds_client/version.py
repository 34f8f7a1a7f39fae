"""The package version, also used for the distribution and the User-Agent header."""

__version__ = "0.1.0"
