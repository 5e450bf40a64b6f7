import os
import sys
from importlib.util import find_spec
from pathlib import Path

# A job has one core. Multi-threaded linear algebra would oversubscribe it and round differently.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

# Not the folder of the main Snakefile, because another workflow may import this one as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
SRC = ROOT / "src"
# The package is not installed in conda environments; its sources are beside the Snakefile.
sys.path.insert(0, str(SRC))

from snakemake.exceptions import WorkflowError

# Jobs may run in conda environments, but planning needs these packages in Snakemake's own Python.
PLANNING = {
    "jsonschema": "jsonschema",
    "nibabel": "nibabel",
    "numpy": "numpy",
    "pandas": "pandas",
    "yaml": "pyyaml",
}
LACKING = [package for module, package in PLANNING.items() if find_spec(module) is None]
if LACKING:
    raise WorkflowError(
        f"{sys.executable}: the Python that runs Snakemake needs {', '.join(PLANNING.values())} "
        f"to plan a study, even with --use-conda; it lacks {', '.join(LACKING)}. Install what "
        f"is missing: {sys.executable} -m pip install {' '.join(LACKING)}"
    )

from notears_pfl.errors import PflError
from notears_pfl.study.configuration import check_settings_file

# Check settings files before Snakemake merges them: it silently takes the last of two equal keys,
# and fails on a file that is not text without naming the file.
SETTINGS = [*workflow.configfiles]
if not workflow.modifier.skip_configfile:
    SETTINGS.append("config/config.yaml")

try:
    for path in SETTINGS if workflow.is_main_process else []:
        if os.path.exists(path):
            check_settings_file(path)
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")
