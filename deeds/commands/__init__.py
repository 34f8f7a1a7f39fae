"""The commands of `flask --app app deeds` that look after a ledger, one module each."""
