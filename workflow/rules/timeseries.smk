rule ingest_timeseries:
    input:
        series=sorted(
            {str(series_path(config["source"]["series"], p)) for p in PARTICIPANTS}
        ),
    output:
        series=expand(
            "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.tsv",
            subject=SUBJECTS.index,
        ),
        reports=expand(
            "results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.json",
            subject=SUBJECTS.index,
        ),
    log:
        "logs/ingest_timeseries.log",
    benchmark:
        "logs/ingest_timeseries.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PARTICIPANTS,
        series=series_pattern,
        rois=STUDY.rois.index.tolist(),
        selected=SELECTED,
        code=code_of("ingest_timeseries"),
    message:
        "Ingestion: checking and labelling the series of {params.participants[0]} and all others"
    script:
        "../../scripts/ingest_timeseries.py"
