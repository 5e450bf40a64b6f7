# The same fit on the phantom's true series, to tell the estimator's errors from preprocessing's.
use rule fit_networks as fit_networks_true_series with:
    input:
        cohort=rules.cohort.output.participants,
        series=of_all(rules.phantom_subject.output.series),
    output:
        networks=expand(
            "results/fit/true_series/group-{{group}}_site-{site}_relmat.tsv",
            site=PLAN.sites,
        ),
        sidecars=expand(
            "results/fit/true_series/group-{{group}}_site-{site}_relmat.json",
            site=PLAN.sites,
        ),
        report="results/fit/true_series/group-{group}_fit.json",
    log:
        "logs/fit_networks_true_series/group-{group}.log",
    benchmark:
        "logs/fit_networks_true_series/group-{group}.benchmark.tsv"
    message:
        "Networks: {wildcards.group} from the phantom's true series"


rule truth:
    input:
        truth=rules.phantom_networks.output.networks,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        true_series=expand(
            rules.fit_networks_true_series.output.networks, group=PLAN.groups
        ),
    output:
        table="results/analysis/truth.tsv",
    log:
        "logs/truth.log",
    benchmark:
        "logs/truth.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        group_sites=PLAN.group_sites,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("truth"),
    message:
        "Analysis: what of the phantom's truth was found"
    script:
        "../../scripts/truth.py"


FIRST_SUBJECTS = [PLAN.subjects_at(site)[0] for site in PLAN.processed_sites]


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
            for site, row in PLAN.tables.sites.iterrows()
        ],
        rois=PLAN.atlas.selected,
        groups=PLAN.groups,
        repetition_time=PLAN.tables.sites["repetition_time"].iloc[0],
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


rule report_truth:
    input:
        truth=rules.truth.output.table,
    output:
        png=report(
            "results/report/figures/truth.png",
            caption="../report/truth.rst",
            category="Truth of the phantom",
            labels={"figure": "truth"},
        ),
        svg="results/report/figures/truth.svg",
    log:
        "logs/report_truth.log",
    benchmark:
        "logs/report_truth.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        code=code_of("report_truth"),
    message:
        "Report: figure of the phantom's truth"
    script:
        "../../scripts/report_truth.py"
