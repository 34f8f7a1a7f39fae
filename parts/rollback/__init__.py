"""Detects that the ledger was replaced by an older copy, and then stops writes."""
