"""`python -m deeds_client` is `deeds-wallet`."""

from deeds_client.cli import main

main(prog_name="deeds-wallet")
