# SPDX-License-Identifier: MIT
"""The notebook in examples/ is what its script makes, and its cells run."""
import sys

import pytest
from conftest import SOURCE

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
for library in ("ipykernel", "pandas", "matplotlib", "sklearn"):
    pytest.importorskip(library)


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SOURCE / "examples"))
    import make_notebook

    return make_notebook


def test_the_notebook_is_that_of_its_script(script):
    kept = nbformat.read(SOURCE / "examples" / "first_fit.ipynb", as_version=4)
    assert [cell.source for cell in kept.cells] == [text for _, text in script.CELLS]
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(out.output_type == "error" for cell in code for out in cell.outputs)


def test_its_cells_run(sgfs, script, tmp_path):
    book = script.execute(script.notebook(), tmp_path)
    shown = ["".join(out.get("data", {}).get("text/plain", "") for out in cell.outputs)
             for cell in book.cells if cell.cell_type == "code"]
    assert "Trust" in shown[1]
    assert [text for text in shown[-2:]] == ["True", "True"]
    assert any("image/png" in out.get("data", {}) for cell in book.cells
               for out in cell.get("outputs", []))
    fit = sgfs.open(tmp_path / "people.run").summary_dict()
    for name, truth in (("age", 0.03), ("visits", -0.1), ("city=Oslo", 0.4)):
        assert abs(fit[name]["mean"] - truth) < 4 * fit[name]["sd"]
