"""The versions that the service tells of itself."""

# Of this software.
VERSION = "0.1.0"

# Of the interface (contract, section 9).
INTERFACE_VERSION = "0.0.1"
