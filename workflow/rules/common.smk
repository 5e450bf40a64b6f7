from snakemake.logging import logger

from notears_pfl.errors import PflError
from notears_pfl.io.fingerprint import code_fingerprint
from notears_pfl.ingest.participants import sites_with_both_groups
from notears_pfl.ingest.series_study import read_series_study
from notears_pfl.ingest.sources import enrol_source
from notears_pfl.io.study import read_study
from notears_pfl.phantom.cohort import list_subjects

CONFIG_NAME = " + ".join(str(path) for path in workflow.configfiles)

# Of scans that are used where they lie, by participant; others are in results/bids.
SCANS = {}

try:
    STUDY = read_study(config, ROOT / "workflow/schemas", CONFIG_NAME)
    KIND = config["source"]["kind"]
    COLUMNS = {
        f"{name}_column": config["source"][f"{name}_column"]
        for name in ("site", "group")
    }
    if KIND == "phantom":
        PARTICIPANTS_TABLE = "results/bids/participants.tsv"
        SUBJECTS = list_subjects(STUDY.sites, STUDY.groups)
    elif KIND == "timeseries":
        PARTICIPANTS_TABLE = config["source"]["participants"]
        SERIES = read_series_study(config["source"])
        SUBJECTS = SERIES.participants.copy()
    else:
        PARTICIPANTS_TABLE = "results/ingest/participants.tsv"
        COLUMNS = {"site_column": "site", "group_column": "group"}
        ENROLMENT = enrol_source(config, STUDY.sites, STUDY.groups, CONFIG_NAME)
        SUBJECTS = ENROLMENT.enrolled.copy()
        SCANS = {} if KIND == "srpbs" else ENROLMENT.scans
    SITES, LEFT_OUT = sites_with_both_groups(SUBJECTS, STUDY.groups, PARTICIPANTS_TABLE)
    LEFT_OUT += SERIES.lines if KIND == "timeseries" else []
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")

if Path("results").exists() and not os.access("results", os.W_OK):
    raise WorkflowError(
        f"{Path('results').absolute()}: cannot be written to. Make the folder writable, or run "
        "from another folder (snakemake --directory)."
    )

if workflow.is_main_process:
    for line in LEFT_OUT if KIND in ("phantom", "timeseries") else ENROLMENT.lines:
        logger.warning(line)

SUBJECTS.index = SUBJECTS["participant_id"].str.removeprefix("sub-").rename("subject")
GROUPS = list(STUDY.groups)
SELECTED = STUDY.rois.index[STUDY.rois["selected"]].tolist()
PARTICIPANTS = SUBJECTS["participant_id"].tolist()
GROUP_SITES = [(group, site) for group in GROUPS for site in SITES]
ALL_SITES = SUBJECTS["site"].unique().tolist()
# Looked up once per job: plain dictionaries are a hundred times faster than tables.
SITE_AND_GROUP = {row.Index: (row.site, row.group) for row in SUBJECTS.itertuples()}
PROTOCOLS = STUDY.sites.drop(columns=["phantom_patients", "phantom_controls"]).to_dict(
    "index"
)
HAS_IMAGES = KIND != "timeseries"


wildcard_constraints:
    site="|".join(SITES),
    group="|".join(GROUPS),
    subject="[A-Za-z0-9]+",


def code_of(script):
    """Fingerprint of scripts/<script>.py and of all our code it uses: editing it reruns the rule."""
    return code_fingerprint(ROOT / "scripts" / f"{script}.py", SRC)


def site_of(wildcards):
    """Protocol of the subject's site: the sites table without the counts of subjects."""
    site, _ = SITE_AND_GROUP[wildcards.subject]
    return PROTOCOLS[site]


def t1w_of(wildcards):
    """Raw T1w image of a subject: where its dataset has it, or as it was made here."""
    name = f"sub-{wildcards.subject}"
    made = f"results/bids/{name}/anat/{name}_T1w.nii.gz"
    return SCANS[name].t1w if name in SCANS else made


def bold_of(wildcards):
    """Run of a subject: where its dataset has it, or as it was made here."""
    name = f"sub-{wildcards.subject}"
    made = f"results/bids/{name}/func/{name}_task-rest_bold.nii.gz"
    return SCANS[name].bold if name in SCANS else made


def sidecars_of(wildcards):
    """Sidecars of a subject's run, the nearest last."""
    name = f"sub-{wildcards.subject}"
    made = f"results/bids/{name}/func/{name}_task-rest_bold.json"
    return list(SCANS[name].sidecars) if name in SCANS else [made]


def true_network_of(wildcards):
    """File with the true network of the phantom subject's group at its site."""
    site, group = SITE_AND_GROUP[wildcards.subject]
    return f"results/phantom/truth/group-{group}_site-{site}_relmat.tsv"


def of_all(pattern):
    """Files of all subjects, as an input function: Snakemake hashes a list once for each item."""
    return lambda _: expand(pattern, subject=SUBJECTS.index)


def confounds_of(wildcards):
    """File of confounds that fMRIPrep has written beside a subject's run."""
    return SCANS[f"sub-{wildcards.subject}"].confounds


def series_pattern(_):
    """Pattern of the series' files; as plain text its braces would be taken for a wildcard."""
    return config["source"]["series"]


# Files behind a subject's page, by kind; those of images where the study has them.
SUBJECT_FILES = {
    "report": "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.json",
    "clean": "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.tsv",
}
IMAGE_FILES = {
    "raw": "results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.tsv",
    "motion": "results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
    "confounds": "results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
}
SLICE_FILES = {
    "t1w": "results/preproc/sub-{subject}/figures/sub-{subject}_space-MNI152_desc-T1w_slices.npz",
    "bold": "results/preproc/sub-{subject}/figures/sub-{subject}_space-T1w_desc-meanBold_slices.npz",
}


def subject_files(wildcards):
    """Files behind the pages of a site's subjects, by kind, in the subjects' order."""
    names = SUBJECTS.index[SUBJECTS["site"] == wildcards.site]
    paths = SUBJECT_FILES | (IMAGE_FILES if HAS_IMAGES else {})
    paths |= SLICE_FILES if HAS_IMAGES and KIND != "fmriprep" else {}
    return {kind: expand(path, subject=names) for kind, path in paths.items()}


def participants_of(wildcards):
    """Participants of a site, in the order of their files."""
    return SUBJECTS.loc[SUBJECTS["site"] == wildcards.site, "participant_id"].tolist()


def picture_of(site, kind):
    """Picture of a group's network at a site; Snakemake's report knows it by its labels."""
    return report(
        f"results/report/figures/network_group-{{group}}_site-{site}_{kind}.png",
        caption=f"../report/network_{kind}.rst",
        category="Networks",
        labels={"figure": kind, "site": site, "group": "{group}"},
    )
