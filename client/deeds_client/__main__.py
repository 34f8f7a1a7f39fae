"""`python -m deeds_client` is `deeds-wallet`."""

import sys


def main() -> None:
    """Run the wallet, or say which package it needs."""
    try:
        from deeds_client.cli import main as wallet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == "deeds_client":
            raise
        sys.exit(f"deeds-wallet needs {package}: pip install {package}")
    except KeyboardInterrupt:
        sys.exit(130)
    wallet(prog_name="deeds-wallet")


if __name__ == "__main__":
    main()
