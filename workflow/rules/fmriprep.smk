rule fmriprep_run:
    input:
        bold=bold_of,
        sidecar=sidecars_of,
        confounds=confounds_of,
        brain=rules.brain_template.output.brain,
        labels=rules.atlas.output.labels,
        atlas=rules.atlas.output.report,
    output:
        series="results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.tsv",
        motion="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
        confounds="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
        report="results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.json",
    log:
        "logs/fmriprep_run/sub-{subject}.log",
    benchmark:
        "logs/fmriprep_run/sub-{subject}.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        preproc={
            key: config["preproc"][key] for key in ("style", "drop_volumes", "smooth")
        },
        space=config["source"]["space"],
        rois=STUDY.rois.index.tolist(),
        code=code_of("fmriprep_run"),
    message:
        "Ingestion: fMRIPrep's run of sub-{wildcards.subject}, to raw ROI signals"
    script:
        "../../scripts/fmriprep_run.py"
