from itertools import pairwise

from snakemake.logging import logger

from notears_pfl.command.locks import note_this_run
from notears_pfl.command.workflow import starts_jobs, targets_of
from notears_pfl.io.fingerprint import code_fingerprint
from notears_pfl.study.plan import RECORD, plan_study
from notears_pfl.study.series_check import check_series

# A study with one group, or a single pilot subject, can be preprocessed. Snakemake does not tell the
# workflow its targets while reading it, and jobs of such a run, other processes, have other ones.
NUMBERS = ("--cores", "-c", "--jobs", "-j")
ASKED = {word for before, word in pairwise(sys.argv) if before not in NUMBERS}
PREPROCESSING_ALONE = "preprocessing" in ASKED and "all" not in ASKED

try:
    # Neither a job, a dry run or the like, nor a start while another run is under way.
    IS_NOTED = (
        workflow.is_main_process and starts_jobs(sys.argv[1:]) and note_this_run()
    )
except PflError as error:
    raise WorkflowError(f"This study cannot be run here.\n{error}")

# It makes all of its targets.
WILL_RUN = IS_NOTED and bool(targets_of(sys.argv[1:]))

try:
    PLAN = plan_study(
        config,
        ROOT / "workflow/schemas",
        " + ".join(str(path) for path in workflow.configfiles),
        record=RECORD if IS_NOTED or not workflow.is_main_process else None,
        is_main=workflow.is_main_process,
        needs_networks=workflow.is_main_process and not PREPROCESSING_ALONE,
    )
    # Names and shapes; a dry run looks for files alone.
    SERIES_NOTICES = check_series(PLAN, config["source"]) if IS_NOTED else []
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")

if Path("results").exists() and not os.access("results", os.W_OK):
    raise WorkflowError(
        f"{Path('results').absolute()}: cannot be written to. Make the folder writable, or run "
        "from another folder (snakemake --directory)."
    )

if workflow.is_main_process:
    for line in [*PLAN.source.notices, *SERIES_NOTICES]:
        logger.warning(line)


wildcard_constraints:
    site="|".join(PLAN.sites),
    group="|".join(PLAN.groups),
    subject="[A-Za-z0-9]+",
    batch=r"\d+",


def code_of(script):
    """Fingerprint of scripts/<script>.py and the package code it uses: editing them reruns the rule."""
    return code_fingerprint(ROOT / "scripts" / f"{script}.py", SRC)


def participants_of(wildcards):
    """Participants at a site, in the order of their files."""
    return [f"sub-{subject}" for subject in PLAN.subjects_at(wildcards.site)]


def picture_of(site, kind):
    """Picture of a group's network at a site, labelled for Snakemake's report."""
    return report(
        f"results/report/figures/network_group-{{group}}_site-{site}_{kind}.png",
        caption=f"../report/network_{kind}.rst",
        category="Networks",
        labels={"figure": kind, "site": site, "group": "{group}"},
    )


def source_datasets(wildcards):
    """Where images or series come from, as configured; braces in it are not Snakemake wildcards."""
    found = config["source"].get("dataset") or config["source"]["series"]
    return list(found.values()) if isinstance(found, dict) else [found]


# Draws of one job: starting Python takes as long as ten draws.
DRAWS_PER_JOB = 50


def parts_of(n_draws):
    """Numbers of the jobs that share the draws."""
    return range(-(-n_draws // DRAWS_PER_JOB))


def draws_of(n_draws, first=1):
    """Draws of a job, as a function of its number; draw 0, if any, belongs to the first job."""

    def numbers(wildcards):
        begin = int(wildcards.part) * DRAWS_PER_JOB + 1
        end = min(begin + DRAWS_PER_JOB, n_draws + 1)
        return list(range(first if begin == 1 else begin, end))

    return numbers
