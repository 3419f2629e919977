"""``python -m elubench`` is the command ``elubench``."""

import sys

from elubench.cli import main

if __name__ == "__main__":
    sys.exit(main())
