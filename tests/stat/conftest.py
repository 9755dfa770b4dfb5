# SPDX-License-Identifier: MIT
"""The statistical tests measure with what the experiments measure with: measures.py, hmc.py, mnist79.py."""
import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(SOURCE / "experiments"))
