"""The page for people: mint, show, hand over and claim a deed in a browser."""
