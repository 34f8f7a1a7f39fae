"""HTTP: Flask blueprints that parse requests and render responses."""
