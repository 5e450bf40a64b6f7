rule phantom_template:
    output:
        t1w="results/phantom/template/tpl-MNI152_desc-head_T1w.nii.gz",
        bold="results/phantom/template/tpl-MNI152_desc-head_boldref.nii.gz",
        brain="results/phantom/template/tpl-MNI152_desc-brain_mask.nii.gz",
        labels="results/phantom/template/tpl-MNI152_seg-surrogate_dseg.nii.gz",
    log:
        "logs/phantom_template.log",
    benchmark:
        "logs/phantom_template.benchmark.tsv"
    conda:
        "../../envs/phantom.yaml"
    params:
        coordinates=PLAN.atlas.coordinates,
        parcellation=config["phantom"]["parcellation"],
        code=code_of("phantom_template"),
    message:
        "Phantom: making the head and surrogate parcellation in template space"
    script:
        "../../scripts/phantom_template.py"


rule phantom_networks:
    output:
        edges="results/phantom/truth/edges.tsv",
        networks=expand(
            "results/phantom/truth/group-{group}_site-{site}_relmat.tsv",
            group=PLAN.groups,
            site=PLAN.sites,
        ),
    log:
        "logs/phantom_networks.log",
    benchmark:
        "logs/phantom_networks.benchmark.tsv"
    conda:
        "../../envs/phantom.yaml"
    params:
        groups=PLAN.groups,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        network=config["phantom"]["network"],
        seed=config["seed"],
        code=code_of("phantom_networks"),
    message:
        "Phantom: drawing the true networks of {params.groups} at {params.sites}"
    script:
        "../../scripts/phantom_networks.py"


PHANTOM_FILES = {
    "t1w": "results/bids/sub-{subject}/anat/sub-{subject}_T1w.nii.gz",
    "t1w_json": "results/bids/sub-{subject}/anat/sub-{subject}_T1w.json",
    "bold": "results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.nii.gz",
    "bold_json": "results/bids/sub-{subject}/func/sub-{subject}_task-rest_bold.json",
    "brain": "results/phantom/truth/sub-{subject}_desc-brain_mask.nii.gz",
    "field": "results/phantom/truth/sub-{subject}_from-head_to-MNI152_xfm.nii.gz",
    "motion": "results/phantom/truth/sub-{subject}_desc-motion_timeseries.tsv",
    "series": "results/phantom/truth/sub-{subject}_seg-surrogate_timeseries.tsv",
    "truth": "results/phantom/truth/sub-{subject}_truth.json",
}


rule phantom_subject:
    input:
        template_t1w=rules.phantom_template.output.t1w,
        template_bold=rules.phantom_template.output.bold,
        template_brain=rules.phantom_template.output.brain,
        template_labels=rules.phantom_template.output.labels,
        networks=expand(
            "results/phantom/truth/group-{group}_site-{{site}}_relmat.tsv",
            group=PLAN.groups,
        ),
    output:
        "results/batches/phantom_subject/site-{site}_batch-{batch}.tsv",
    log:
        "logs/phantom_subject/site-{site}_batch-{batch}.log",
    benchmark:
        "logs/phantom_subject/site-{site}_batch-{batch}.benchmark.tsv"
    conda:
        "../../envs/phantom.yaml"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        subjects=subjects_of,
        takes=per_subject(network=PLAN.true_network),
        makes=per_subject(**PHANTOM_FILES),
        site=PLAN.protocol,
        rois=PLAN.atlas.rois,
        spatial_reduction=config["phantom"]["spatial_reduction"],
        settings={
            section: config["phantom"][section]
            for section in ("anatomy", "signal", "motion", "scanner")
        },
        seed=config["seed"],
        code=code_of("phantom_subject"),
    message:
        "Phantom: scanning batch {wildcards.batch} of {wildcards.site}"
    script:
        "../../scripts/phantom_subject.py"


rule phantom_dataset:
    output:
        participants="results/bids/participants.tsv",
        participants_json="results/bids/participants.json",
        description="results/bids/dataset_description.json",
        readme="results/bids/README",
    log:
        "logs/phantom_dataset.log",
    benchmark:
        "logs/phantom_dataset.benchmark.tsv"
    conda:
        "../../envs/phantom.yaml"
    params:
        subjects=PLAN.source.participants.to_dict("list"),
        patients=PLAN.groups[0],
        seed=config["seed"],
        code=code_of("phantom_dataset"),
    message:
        "Phantom: writing the participants and description of the BIDS dataset"
    script:
        "../../scripts/phantom_dataset.py"


rule phantom_figure:
    input:
        scans=expand(
            "results/batches/phantom_subject/site-{site}_batch-1.tsv",
            site=PLAN.processed_sites,
        ),
        edges=rules.phantom_networks.output.edges,
    output:
        png=report(
            "results/phantom/figure_cohort.png",
            caption="../report/figure_cohort.rst",
            category="Truth of the phantom",
            labels={"figure": "cohort"},
        ),
        svg="results/phantom/figure_cohort.svg",
    log:
        "logs/phantom_figure.log",
    benchmark:
        "logs/phantom_figure.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        titles=[
            f"{site}: TR {row['repetition_time']:g} s,\n{row['n_volumes']} volumes"
            for site, row in PLAN.tables.sites.iterrows()
        ],
        rois=PLAN.atlas.selected,
        groups=PLAN.groups,
        repetition_time=PLAN.tables.sites["repetition_time"].iloc[0],
        subjects=[f"sub-{PLAN.subjects_at(site)[0]}" for site in PLAN.processed_sites],
        code=code_of("phantom_figure"),
    message:
        "Phantom: figure of the cohort"
    script:
        "../../scripts/phantom_figure.py"


rule phantom_cohort:
    input:
        "results/bids_validation.json",
        rules.phantom_figure.output,
