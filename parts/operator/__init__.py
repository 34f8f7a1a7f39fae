"""For operators: the commands of `deeds`, and checks at startup.

Knows no other part: their tables, checks and findings come in `Ledger.parts`.
"""
