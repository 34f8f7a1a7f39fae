"""The deed service: the domain, its HTTP interface, its pages, and how it is served."""
