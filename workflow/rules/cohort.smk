rule cohort:
    input:
        participants=PARTICIPANTS_TABLE,
        reports=expand(
            "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.json",
            subject=SUBJECTS.index,
        ),
    output:
        participants="results/cohort/participants.tsv",
        flow="results/cohort/flow.tsv",
        table_one="results/cohort/table_one.tsv",
    log:
        "logs/cohort.log",
    benchmark:
        "logs/cohort.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PARTICIPANTS,
        columns={
            f"{column}_column": config["source"][f"{column}_column"]
            for column in ("site", "group")
        },
        sites=SITES,
        groups=tuple(GROUPS),
        limits=config["cohort"]["limits"],
        discovery_share=config["cohort"]["discovery_share"],
        describe=config["cohort"]["describe"],
        seed=config["seed"],
        code=code_of("cohort"),
    message:
        "Cohort: who is in, why not, and in which half"
    script:
        "../../scripts/cohort.py"
