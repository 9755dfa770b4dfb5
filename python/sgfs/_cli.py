# SPDX-License-Identifier: MIT
"""The program `sgfs`, as the package installs it: the process becomes the program in the package."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).resolve().parent
    inside, built = here / "bin" / "sgfs", here.parents[1] / "build" / "sgfs"
    for program in (inside, built):
        if program.exists():
            os.execv(program, ["sgfs", *sys.argv[1:]])
    sys.exit("sgfs: this package has no program in it; install the wheel, or build it with make."
             + (" One is at " + found if (found := shutil.which("sgfs")) else ""))


if __name__ == "__main__":
    main()
