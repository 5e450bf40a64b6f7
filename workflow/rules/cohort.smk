rule cohort:
    input:
        participants=PLAN.source.participants_table,
        reports=batches_of("clean_timeseries"),
    output:
        participants="results/cohort/participants.tsv",
        flow="results/cohort/flow.tsv",
        table_one="results/cohort/table_one.tsv",
        balance="results/cohort/balance.tsv",
    log:
        "logs/cohort.log",
    benchmark:
        "logs/cohort.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PLAN.participants,
        columns=PLAN.source.columns,
        sites=PLAN.sites,
        groups=PLAN.tables.groups,
        limits=config["cohort"]["limits"],
        discovery_share=config["cohort"]["discovery_share"],
        matching={
            "covariates": config["cohort"]["match"],
            "caliper": config["cohort"]["caliper"],
            "without_values": config["source"].get("on_problem", "stop"),
        },
        describe=config["cohort"]["describe"],
        seed=config["seed"],
        code=code_of("cohort"),
    message:
        "Cohort: applying exclusion criteria, matching and splitting into discovery and validation sets"
    script:
        "../../scripts/cohort.py"
