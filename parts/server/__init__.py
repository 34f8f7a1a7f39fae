"""A gunicorn worker that no slow or malformed client can hold up."""
