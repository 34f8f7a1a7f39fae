"""`python -m deeds_client` is `deeds-wallet`."""

import atexit
import os
import sys


def main() -> None:
    """Run the wallet, or exit with the name of a missing package."""
    atexit.register(_drop_unwritten)
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


def _drop_unwritten() -> None:
    """Discard buffered output that a standard stream refuses.

    Otherwise Python tries to flush it again at exit, fails and exits with status 120.
    """
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
