"""`deeds dev`: a service for testing other programs, never for deeds of value."""
