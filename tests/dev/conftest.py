"""What runs in the background of a shell ignores Ctrl-C, and so would `deeds dev`."""

import signal

for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) == signal.SIG_IGN:
        signal.signal(each, signal.SIG_DFL)
