"""Items, outputs and secrets, and what may be done with them.

Of libraries only argon2-cffi.
"""
