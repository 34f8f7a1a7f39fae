"""Notices that the ledger was replaced by an older copy, and writes no more then."""
