"""HTTP: Flask blueprints that turn bytes into value objects and answers into bytes."""
