"""Restores the signals that `deeds dev` must get.

If a shell runs the tests in the background, they and their children ignore Ctrl-C.
"""

import signal

for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
