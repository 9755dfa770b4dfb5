# SPDX-License-Identifier: MIT
"""The examples of docs/python.md run, from the first to the last."""
import re
import shutil

import pytest
from conftest import SOURCE

for library in ("pandas", "matplotlib", "sklearn", "sgfs"):
    pytest.importorskip(library)


@pytest.mark.filterwarnings("ignore")
def test_the_page_runs(sgfs, people, tmp_path, monkeypatch):
    shutil.copy(people[1], tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/python.md, example {number + 1}", "exec"), names)
    assert names["robust"].trust and (tmp_path / "people.run").exists()
