"""The command `bookwheel`, also as `python -m bookwheel`."""

import gc
import os
import signal

_INTERRUPTED = 130
_ALLOCATIONS_BETWEEN_LOOKS = 50_000


def run() -> None:
    """Run the command line."""
    # Until `main` takes over, nothing is open that an interrupt would have to close. A shell's background job ignores
    # Ctrl-C, and so do we then.
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    # Imports make a hundred thousand objects that stay; looking through them for garbage takes a tenth of the start.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_LOOKS)
    from bookwheel.cli.main import main

    main()


def _leave(_number: int, _frame: object) -> None:
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
