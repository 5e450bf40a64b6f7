"""Rules that run as many jobs load no library that they do not use.

Loading is most of a job's cost.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.parametrize(
    ("script", "unused"),
    [
        ("anatomical", {"pandas", "nipype", "nilearn"}),
        ("functional", {"nilearn"}),
        ("clean_timeseries", {"scipy", "nibabel", "SimpleITK", "nipype", "nilearn"}),
        ("ingest_timeseries", {"scipy", "nibabel", "nilearn"}),
        ("compare_networks", {"scipy.stats", "sklearn"}),
        ("permutation_draws", {"scipy.stats", "scipy.optimize", "sklearn"}),
    ],
)
def test_a_job_loads_only_what_it_uses(script, unused):
    body = ast.parse((SCRIPTS / f"{script}.py").read_text()).body
    imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    program = "\n".join([*imports, "import sys", "print(*sys.modules)"])
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "numpy" in loaded
    assert not unused & set(loaded)
