# SPDX-License-Identifier: MIT
"""What `sgfs audit` says of a few runs, beside what is true of them."""
from evidence.lab import Missing


def run(lab):
    if lab("help").stdout.find("\n  audit ") < 0:
        raise Missing("this program has no command audit")
    raise Missing("not yet")
