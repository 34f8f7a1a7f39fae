"""The benchmark.

Measures the service from outside, each figure beside its reference in one run.
"""
