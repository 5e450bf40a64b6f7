rule enrolment:
    input:
        tables=ENROLMENT.tables,
    output:
        participants="results/ingest/participants.tsv",
    log:
        "logs/enrolment.log",
    benchmark:
        "logs/enrolment.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=ENROLMENT.rows(),
        code=code_of("enrolment"),
    message:
        "Ingestion: who is in the datasets, and who is not processed and why"
    script:
        "../../scripts/enrolment.py"
