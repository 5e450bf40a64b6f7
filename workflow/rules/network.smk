rule fit_networks:
    input:
        cohort=rules.cohort.output.participants,
        series=of_all(PLAN.clean_series),
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


# The same fit on the other scale, for the scale audit.
use rule fit_networks as fit_networks_other_scale with:
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
