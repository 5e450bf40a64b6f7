import os
import sys
from pathlib import Path

# A job has one core. Linear algebra on more would fight over them, and round differently.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

SRC = Path(workflow.basedir) / "src"
# Inside a conda environment the package is not installed; its sources are beside the Snakefile.
sys.path.insert(0, str(SRC))

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from notears_pfl.errors import PflError
from notears_pfl.io.fingerprint import code_fingerprint
from notears_pfl.ingest.participants import (
    sites_with_both_groups,
    standard_participants,
)
from notears_pfl.io.series_files import series_path
from notears_pfl.io.study import read_study
from notears_pfl.io.tables import read_table
from notears_pfl.phantom.cohort import list_subjects

CONFIG_NAME = " + ".join(str(path) for path in workflow.configfiles)

KIND = config.get("source", {}).get("kind")

try:
    STUDY = read_study(config, Path(workflow.basedir) / "workflow/schemas", CONFIG_NAME)
    if KIND == "phantom":
        PARTICIPANTS_TABLE = "results/bids/participants.tsv"
        SUBJECTS = list_subjects(STUDY.sites, STUDY.groups)
    else:
        PARTICIPANTS_TABLE = config["source"]["participants"]
        SUBJECTS = standard_participants(
            read_table(PARTICIPANTS_TABLE),
            config["source"]["site_column"],
            config["source"]["group_column"],
            PARTICIPANTS_TABLE,
        )
    SITES, LEFT_OUT = sites_with_both_groups(SUBJECTS, STUDY.groups, PARTICIPANTS_TABLE)
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")

for line in LEFT_OUT:
    logger.warning(line)

SUBJECTS.index = SUBJECTS["participant_id"].str.removeprefix("sub-").rename("subject")
GROUPS = list(STUDY.groups)
SELECTED = STUDY.rois.index[STUDY.rois["selected"]].tolist()
PARTICIPANTS = SUBJECTS["participant_id"].tolist()
GROUP_SITES = [(group, site) for group in GROUPS for site in SITES]


wildcard_constraints:
    site="|".join(SITES),
    group="|".join(GROUPS),
    subject="[A-Za-z0-9]+",


def code_of(script):
    """Fingerprint of scripts/<script>.py and of all our code it uses: editing it reruns the rule."""
    return code_fingerprint(Path(workflow.basedir) / "scripts" / f"{script}.py", SRC)


def site_of(wildcards):
    """Protocol of the subject's site: the sites table without the counts of subjects."""
    site = STUDY.sites.loc[SUBJECTS.loc[wildcards.subject, "site"]]
    return site.drop(["phantom_patients", "phantom_controls"]).to_dict()


def true_network_of(wildcards):
    """File with the true network of the phantom subject's group at its site."""
    subject = SUBJECTS.loc[wildcards.subject]
    return f"results/phantom/truth/group-{subject.group}_site-{subject.site}_relmat.tsv"


def series_pattern(_):
    """Pattern of the series' files; as plain text its braces would be taken for a wildcard."""
    return config["source"]["series"]


HAS_IMAGES = KIND != "timeseries"
# Files behind a subject's page, by kind; those of images where the study has them.
SUBJECT_FILES = {
    "report": "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.json",
    "clean": "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.tsv",
}
IMAGE_FILES = {
    "raw": "results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.tsv",
    "motion": "results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
    "confounds": "results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
    "t1w": "results/preproc/sub-{subject}/figures/sub-{subject}_space-MNI152_desc-T1w_slices.npz",
    "bold": "results/preproc/sub-{subject}/figures/sub-{subject}_space-T1w_desc-meanBold_slices.npz",
}


def subject_files(wildcards):
    """Files behind the pages of a site's subjects, by kind, in the subjects' order."""
    names = SUBJECTS.index[SUBJECTS["site"] == wildcards.site]
    paths = SUBJECT_FILES | (IMAGE_FILES if HAS_IMAGES else {})
    return {kind: expand(path, subject=names) for kind, path in paths.items()}


def participants_of(wildcards):
    """Participants of a site, in the order of their files."""
    return SUBJECTS.loc[SUBJECTS["site"] == wildcards.site, "participant_id"].tolist()
