from notears_pfl.study.needs import need_of_fit

FIT_NEED = need_of_fit(
    len(PLAN.sites), len(PLAN.atlas.selected), len(PLAN.source.participants)
)
# Whether both groups are fitted with the λ and κ of their pooled fit.
JOINT = config["network"]["groups"] == "joint"


rule pooled_fit:
    input:
        cohort=rules.cohort.output.participants,
        series=batches_of("clean_timeseries"),
    output:
        report="results/fit/pooled_fit.json",
    log:
        "logs/pooled_fit.log",
    benchmark:
        "logs/pooled_fit.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: FIT_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: FIT_NEED.minutes * attempt,
    params:
        participants=PLAN.participants,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        estimator=config["network"]["estimator"],
        code=code_of("pooled_fit"),
    message:
        "Networks: fitting both groups together"
    script:
        "../../scripts/pooled_fit.py"


rule fit_networks:
    input:
        cohort=rules.cohort.output.participants,
        series=batches_of("clean_timeseries"),
        pooled=rules.pooled_fit.output.report if JOINT else [],
    output:
        networks=expand(
            "results/fit/group-{{group}}_site-{site}_relmat.tsv", site=PLAN.sites
        ),
        sidecars=expand(
            "results/fit/group-{{group}}_site-{site}_relmat.json", site=PLAN.sites
        ),
        edges="results/fit/group-{group}_edges.tsv",
        report="results/fit/group-{group}_fit.json",
    log:
        "logs/fit_networks/group-{group}.log",
    benchmark:
        "logs/fit_networks/group-{group}.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: FIT_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: FIT_NEED.minutes * attempt,
    params:
        participants=PLAN.participants,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        estimator=config["network"]["estimator"],
        code=code_of("fit_networks"),
    message:
        "Networks: fitting {wildcards.group} jointly over the sites"
    script:
        "../../scripts/fit_networks.py"


# The same fits on the other scale, for the scale audit.
use rule pooled_fit as pooled_fit_other_scale with:
    output:
        report="results/fit/other_scale/pooled_fit.json",
    log:
        "logs/pooled_fit_other_scale.log",
    benchmark:
        "logs/pooled_fit_other_scale.benchmark.tsv"
    params:
        participants=PLAN.participants,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        scale={"subject": "roi", "roi": "subject"}[config["network"]["scale"]],
        estimator=config["network"]["estimator"],
        code=code_of("pooled_fit"),
    message:
        "Networks: fitting both groups together on the other scale"


use rule fit_networks as fit_networks_other_scale with:
    input:
        cohort=rules.cohort.output.participants,
        series=batches_of("clean_timeseries"),
        pooled=rules.pooled_fit_other_scale.output.report if JOINT else [],
    output:
        networks=expand(
            "results/fit/other_scale/group-{{group}}_site-{site}_relmat.tsv",
            site=PLAN.sites,
        ),
        sidecars=expand(
            "results/fit/other_scale/group-{{group}}_site-{site}_relmat.json",
            site=PLAN.sites,
        ),
        edges="results/fit/other_scale/group-{group}_edges.tsv",
        report="results/fit/other_scale/group-{group}_fit.json",
    log:
        "logs/fit_networks_other_scale/group-{group}.log",
    benchmark:
        "logs/fit_networks_other_scale/group-{group}.benchmark.tsv"
    params:
        participants=PLAN.participants,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        scale={"subject": "roi", "roi": "subject"}[config["network"]["scale"]],
        estimator=config["network"]["estimator"],
        code=code_of("fit_networks"),
    message:
        "Networks: fitting {wildcards.group} on the other scale, for the scale audit"
