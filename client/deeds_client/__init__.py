"""A client of a deed service: a library for programs and a wallet for the terminal."""
