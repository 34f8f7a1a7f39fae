"""The web pages: mint, show, hand over and claim deeds in a browser."""
