FIRST_SUBJECTS = SUBJECTS.drop_duplicates("site").index.tolist()


rule phantom_figure:
    input:
        t1w=expand(rules.phantom_subject.output.t1w, subject=FIRST_SUBJECTS[0]),
        bolds=expand(rules.phantom_subject.output.bold, subject=FIRST_SUBJECTS),
        edges=rules.phantom_networks.output.edges,
        motion=expand(rules.phantom_subject.output.motion, subject=FIRST_SUBJECTS[0]),
    output:
        png="results/phantom/figure_cohort.png",
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
            for site, row in STUDY.sites.iterrows()
        ],
        rois=SELECTED,
        groups=GROUPS,
        repetition_time=STUDY.sites["repetition_time"].iloc[0],
        subject=f"sub-{FIRST_SUBJECTS[0]}",
        code=code_of("phantom_figure"),
    message:
        "Phantom: the cohort at a glance"
    script:
        "../../scripts/phantom_figure.py"


rule phantom_cohort:
    input:
        rules.validate_bids.output,
        rules.phantom_figure.output,
