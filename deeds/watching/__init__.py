"""What operators see of the service: metrics for Prometheus and the log. Holds no ledger's data."""
