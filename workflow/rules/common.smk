from snakemake.logging import logger

from notears_pfl.io.fingerprint import code_fingerprint
from notears_pfl.study.plan import plan_study

try:
    PLAN = plan_study(
        config,
        ROOT / "workflow/schemas",
        " + ".join(str(path) for path in workflow.configfiles),
        record=Path(".snakemake/image_headers.json"),
        is_main=workflow.is_main_process,
    )
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")

if Path("results").exists() and not os.access("results", os.W_OK):
    raise WorkflowError(
        f"{Path('results').absolute()}: cannot be written to. Make the folder writable, or run "
        "from another folder (snakemake --directory)."
    )

if workflow.is_main_process:
    for line in PLAN.source.notices:
        logger.warning(line)


wildcard_constraints:
    site="|".join(PLAN.sites),
    group="|".join(PLAN.groups),
    subject="[A-Za-z0-9]+",


def code_of(script):
    """Fingerprint of scripts/<script>.py and the package code it uses: editing them reruns the rule."""
    return code_fingerprint(ROOT / "scripts" / f"{script}.py", SRC)


def of_all(pattern):
    """Files of all subjects, as an input function: Snakemake hashes a plain list once per item."""
    return lambda _: expand(pattern, subject=PLAN.subjects)


def by_kind(patterns):
    """Files by kind of all subjects, or of those at the rule's site, as an input function."""

    def files(wildcards):
        site = wildcards.get("site")
        subjects = PLAN.subjects_at(site) if site else PLAN.subjects
        return {kind: expand(path, subject=subjects) for kind, path in patterns.items()}

    return files


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
