"""What an operator runs beside the service: `flask --app app deeds …`."""
