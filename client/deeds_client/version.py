"""The version of this package, also of its distribution and its User-Agent."""

__version__ = "0.1.0"
