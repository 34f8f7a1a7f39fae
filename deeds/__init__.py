"""The domain of the deed service: values, rules, hashing and the service that joins them.

Nothing here but `blueprints`, `cli` and `server` may import a web or database library.
"""
