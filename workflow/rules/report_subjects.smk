from notears_pfl.io.fingerprint import folder_fingerprint

# Files behind a subject's page, by kind; those of images where the study has them.
SUBJECT_FILES = {"report": PLAN.clean_report, "clean": PLAN.clean_series}
if PLAN.source.has_images:
    SUBJECT_FILES |= {
        "raw": rules.clean_timeseries.input.series,
        "motion": rules.clean_timeseries.input.motion,
        "confounds": rules.clean_timeseries.input.confounds,
    }
if PLAN.source.has_anatomy:
    SUBJECT_FILES |= {
        "t1w": rules.anatomical.output.picture,
        "bold": rules.functional.output.picture,
    }


def subject_files(wildcards):
    """Files behind the pages of a site's subjects, by kind, in the subjects' order."""
    subjects = PLAN.subjects_at(wildcards.site)
    return {
        kind: expand(path, subject=subjects) for kind, path in SUBJECT_FILES.items()
    }


def participants_of(wildcards):
    """Participants of a site, in the order of their files."""
    return [f"sub-{subject}" for subject in PLAN.subjects_at(wildcards.site)]


def picture_of(site, kind):
    """Picture of a group's network at a site; Snakemake's report knows it by its labels."""
    return report(
        f"results/report/figures/network_group-{{group}}_site-{site}_{kind}.png",
        caption=f"../report/network_{kind}.rst",
        category="Networks",
        labels={"figure": kind, "site": site, "group": "{group}"},
    )


rule report_subjects:
    input:
        unpack(subject_files),
        cohort=rules.cohort.output.participants,
        rois=config["rois"]["table"],
    output:
        pages=directory("results/report/subjects/site-{site}"),
    log:
        "logs/report_subjects/site-{site}.log",
    benchmark:
        "logs/report_subjects/site-{site}.benchmark.tsv"
    wildcard_constraints:
        site="|".join(PLAN.processed_sites),
    conda:
        "../../envs/report.yaml"
    params:
        participants=participants_of,
        settings={
            "band_hz": (
                config["preproc"]["clean"]["band_hz"]
                if PLAN.source.has_images
                else None
            ),
            "min_coverage": config["rois"]["min_coverage"],
        },
        code=code_of("report_subjects"),
        looks=folder_fingerprint(SRC / "notears_pfl/report/templates"),
    message:
        "Report: pages of the subjects at {wildcards.site}"
    script:
        "../../scripts/report_subjects.py"
