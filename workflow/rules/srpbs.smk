def released_t1w_of(wildcards):
    """T1w image of a subject in the release."""
    return ENROLMENT.scans[f"sub-{wildcards.subject}"].t1w


def released_volumes_of(wildcards):
    """Folder of the release with the volumes of a subject's run."""
    return ENROLMENT.scans[f"sub-{wildcards.subject}"].bold


def protocol_of(wildcards):
    """What the release's table of protocols says of a subject's run."""
    return ENROLMENT.scans[f"sub-{wildcards.subject}"].metadata


rule srpbs_subject:
    input:
        t1w=released_t1w_of,
        volumes=released_volumes_of,
    output:
        t1w="results/bids/sub-{subject}/anat/sub-{subject}_T1w.nii.gz",
        t1w_json="results/bids/sub-{subject}/anat/sub-{subject}_T1w.json",
        bold="results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.nii.gz",
        bold_json="results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.json",
    log:
        "logs/srpbs_subject/sub-{subject}.log",
    benchmark:
        "logs/srpbs_subject/sub-{subject}.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        site=site_of,
        protocol=protocol_of,
        code=code_of("srpbs_subject"),
    message:
        "Ingestion: sub-{wildcards.subject} of the SRPBS release to BIDS"
    script:
        "../../scripts/srpbs_subject.py"


rule srpbs_dataset:
    input:
        tables=ENROLMENT.tables,
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
        participants=ENROLMENT.rows(),
        code=code_of("srpbs_dataset"),
    message:
        "Ingestion: participants and description of the converted dataset"
    script:
        "../../scripts/srpbs_dataset.py"
