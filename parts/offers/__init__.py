"""Offers: half a swap that somebody else completes (contract 4.7 to 4.10)."""
