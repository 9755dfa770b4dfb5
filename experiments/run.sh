#!/bin/sh
# SPDX-License-Identifier: MIT
# The paper's experiments: experiments/run.sh [NAME ...] [--quick] [--data-dir FOLDER]; --help tells the rest.
# Builds the program and installs what is missing (gnuplot; numpy and scipy into build-venv) first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
make --no-print-directory -C "$here/.." paper-deps
exec "$here/../build-venv/bin/python" "$here/paper.py" "$@"
