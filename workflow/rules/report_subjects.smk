# The pages of the subjects, and their pictures side by side.
from notears_pfl.io.fingerprint import folder_fingerprint

# Files shown on a subject's page: where each is listed, and as what; those of images only if the
# study has images.
SUBJECT_FILES = {
    "report": ("clean_timeseries", "report"),
    "clean": ("clean_timeseries", "series"),
}
if PLAN.source.has_images:
    SUBJECT_FILES |= {
        "raw": (RAW_MAKER, "series"),
        "motion": (RAW_MAKER, "motion"),
        "confounds": (RAW_MAKER, "confounds"),
    }
# Slices of the brain mask and of both registrations.
SLICES = {}
if PLAN.source.has_anatomy:
    SLICES = {
        "brain": ("anatomical", "brain_picture"),
        "bold": ("functional", "picture"),
        "t1w": ("anatomical", "picture"),
    }


rule report_subjects:
    input:
        unpack(makers_of(SUBJECT_FILES | SLICES)),
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
        files=SUBJECT_FILES | SLICES,
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
        "Report: subject pages of site {wildcards.site}"
    script:
        "../../scripts/report_subjects.py"


if PLAN.source.has_anatomy:

    rule report_contact_sheet:
        input:
            unpack(makers_of(SLICES)),
            cohort=rules.cohort.output.participants,
        output:
            page="results/report/contact_sheets/site-{site}.html",
        log:
            "logs/report_contact_sheet/site-{site}.log",
        benchmark:
            "logs/report_contact_sheet/site-{site}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/report.yaml"
        params:
            participants=participants_of,
            files=SLICES,
            code=code_of("report_contact_sheet"),
            looks=folder_fingerprint(SRC / "notears_pfl/report/templates"),
        message:
            "Report: contact sheet of site {wildcards.site}"
        script:
            "../../scripts/report_contact_sheet.py"
