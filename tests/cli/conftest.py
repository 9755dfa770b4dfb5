# SPDX-License-Identifier: MIT
"""Fixtures of the tests of the program; what they are made of is in cli_program.py."""
import pytest

from cli_program import PROGRAM, Sgfs


def pytest_collection_modifyitems(items):
    for item in items:
        if not PROGRAM:
            item.add_marker(pytest.mark.skip(reason="SGFS (the program) is not set"))


@pytest.fixture
def sgfs(tmp_path):
    """The program in an empty folder of this test's own."""
    return Sgfs(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The program in one folder for all tests of a file."""
    return Sgfs(tmp_path_factory.mktemp("shared"))
