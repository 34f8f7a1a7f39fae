"""A gunicorn worker that slow and malformed clients cannot block."""
