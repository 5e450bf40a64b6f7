from notears_pfl.io.fingerprint import folder_fingerprint


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
        site="|".join(ALL_SITES),
    conda:
        "../../envs/report.yaml"
    params:
        participants=participants_of,
        settings={
            "band_hz": config["preproc"]["clean"]["band_hz"] if HAS_IMAGES else None,
            "min_coverage": config["rois"]["min_coverage"],
        },
        code=code_of("report_subjects"),
        looks=folder_fingerprint(SRC / "notears_pfl/report/templates"),
    message:
        "Report: pages of the subjects at {wildcards.site}"
    script:
        "../../scripts/report_subjects.py"
