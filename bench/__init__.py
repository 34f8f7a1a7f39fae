"""The benchmark: measures the service from outside, each figure beside its reference in one run.

    python -m bench          every row of the table, about three minutes
    python -m bench --long   the same with all 100,000 swaps and 10,000,000 outputs, and the curves

Knows of the service what any client knows, and besides: how to make a strong secret, and the tables
(`bench.preload`). Loopback only; ends only processes that it started.
"""
