"""The benchmark: figures of the service from outside, each beside its reference."""
