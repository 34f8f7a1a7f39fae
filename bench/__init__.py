"""The benchmark: measures the service from outside, each figure beside its reference in one run.

python -m bench          the table
python -m bench --long   the table with 10,000,000 outputs, and the growth curves
"""
