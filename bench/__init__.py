"""The benchmark: measures the service from outside, each figure with a reference."""
