"""The core: domain, hashing, settings, HTTP interface."""
