"""Offers: half a swap that somebody else completes (contract part 3)."""
