# SPDX-License-Identifier: MIT
"""The tests of experiments/ need the program, as the experiments do."""
import os

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if not os.environ.get("SGFS"):
            item.add_marker(pytest.mark.skip(reason="SGFS (the program) is not set"))
