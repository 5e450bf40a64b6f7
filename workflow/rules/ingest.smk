# The user's own images: every subject is enrolled, or listed with its problems.
if PLAN.source.is_enrolled:

    rule enrolment:
        input:
            tables=PLAN.source.enrolment.tables,
        output:
            participants="results/ingest/participants.tsv",
        log:
            "logs/enrolment.log",
        benchmark:
            "logs/enrolment.benchmark.tsv"
        conda:
            "../../envs/analysis.yaml"
        params:
            participants=PLAN.source.enrolment.rows(),
            code=code_of("enrolment"),
        message:
            "Ingestion: listing the subjects, with reasons for those not processed"
        script:
            "../../scripts/enrolment.py"


# The SRPBS release, converted to BIDS.
if PLAN.kind == "srpbs":

    rule srpbs_subject:
        input:
            released=source_files(
                PLAN.source.released_t1w, PLAN.source.released_volumes
            ),
        output:
            "results/batches/srpbs_subject/site-{site}_batch-{batch}.tsv",
        log:
            "logs/srpbs_subject/site-{site}_batch-{batch}.log",
        benchmark:
            "logs/srpbs_subject/site-{site}_batch-{batch}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=1000,
        params:
            subjects=subjects_of,
            takes=per_subject(
                t1w=PLAN.source.released_t1w, volumes=PLAN.source.released_volumes
            ),
            makes=per_subject(
                t1w="results/bids/sub-{subject}/anat/sub-{subject}_T1w.nii.gz",
                t1w_json="results/bids/sub-{subject}/anat/sub-{subject}_T1w.json",
                bold="results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.nii.gz",
                bold_json="results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.json",
            ),
            each=per_subject(protocol=PLAN.source.released_protocol),
            site=PLAN.protocol,
            code=code_of("srpbs_subject"),
        message:
            "Ingestion: converting batch {wildcards.batch} of {wildcards.site} to BIDS"
        script:
            "../../scripts/srpbs_subject.py"

    rule srpbs_dataset:
        input:
            tables=PLAN.source.enrolment.tables,
        output:
            participants="results/bids/participants.tsv",
            participants_json="results/bids/participants.json",
            description="results/bids/dataset_description.json",
            readme="results/bids/README",
        log:
            "logs/srpbs_dataset.log",
        benchmark:
            "logs/srpbs_dataset.benchmark.tsv"
        conda:
            "../../envs/analysis.yaml"
        params:
            participants=PLAN.source.enrolment.rows(),
            code=code_of("srpbs_dataset"),
        message:
            "Ingestion: writing the participants and description of the converted dataset"
        script:
            "../../scripts/srpbs_dataset.py"


# Raw BIDS that the workflow writes: the phantom, or the converted SRPBS release.
if PLAN.source.makes_bids:

    rule validate_bids:
        input:
            dataset=expand(
                "results/bids/{file}",
                file=[
                    "participants.tsv",
                    "participants.json",
                    "dataset_description.json",
                    "README",
                ],
            ),
            scans=batches_of(PLAN.source.bids_maker),
        output:
            report="results/bids_validation.json",
        log:
            "logs/validate_bids.log",
        benchmark:
            "logs/validate_bids.benchmark.tsv"
        conda:
            "../../envs/phantom.yaml"
        params:
            code=code_of("validate_bids"),
        message:
            "Ingestion: running the BIDS validator on results/bids"
        script:
            "../../scripts/validate_bids.py"


# ROI series that the user has already extracted.
if not PLAN.source.has_images:

    rule ingest_timeseries:
        input:
            series=source_files(PLAN.source.series.files_of),
        output:
            "results/batches/clean_timeseries/site-{site}_batch-{batch}.tsv",
        log:
            "logs/ingest_timeseries/site-{site}_batch-{batch}.log",
        benchmark:
            "logs/ingest_timeseries/site-{site}_batch-{batch}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/analysis.yaml"
        params:
            subjects=subjects_of,
            takes=per_subject(files=PLAN.source.series.files_of),
            makes=per_subject(**CLEAN_FILES),
            each=per_subject(
                names=lambda who: PLAN.source.series.names[f"sub-{who}"],
                runs=lambda who: PLAN.source.series.runs[f"sub-{who}"],
            ),
            layout=config["source"].get("layout", ""),
            columns=config["source"].get("series_columns", []),
            rois=PLAN.atlas.rois,
            selected=PLAN.atlas.selected,
            code=code_of("ingest_timeseries"),
        message:
            "Ingestion: checking and labelling the ROI series of batch {wildcards.batch} of {wildcards.site}"
        script:
            "../../scripts/ingest_timeseries.py"
