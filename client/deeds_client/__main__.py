"""`python -m deeds_client` is `deeds-wallet`."""

raise SystemExit("not there yet")
