"""The `citree` command: `python -m citree`, and the script `citree`."""

import signal
import sys

from . import _native


def main() -> None:
    """Runs the command with the arguments of the process, and ends it."""
    # Python would only note Ctrl-C while the command runs. The command ends, or saves what it has and ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(["citree", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
