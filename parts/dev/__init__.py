"""`deeds dev`: the service for tests of other programs, never for deeds of value."""
