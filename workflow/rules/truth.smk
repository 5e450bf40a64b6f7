# The same fit on the phantom's true series, to tell the estimator's errors from preprocessing's.
use rule fit_networks as fit_networks_true_series with:
    input:
        cohort=rules.cohort.output.participants,
        series=expand(rules.phantom_subject.output.series, subject=SUBJECTS.index),
    output:
        networks=expand(
            "results/fit/true_series/group-{{group}}_site-{site}_relmat.tsv",
            site=SITES,
        ),
        sidecars=expand(
            "results/fit/true_series/group-{{group}}_site-{site}_relmat.json",
            site=SITES,
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
        networks=expand(rules.fit_networks.output.networks, group=GROUPS),
        true_series=expand(rules.fit_networks_true_series.output.networks, group=GROUPS),
    output:
        table="results/analysis/truth.tsv",
    log:
        "logs/truth.log",
    benchmark:
        "logs/truth.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        group_sites=GROUP_SITES,
        groups=tuple(GROUPS),
        sites=SITES,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("truth"),
    message:
        "Analysis: what of the phantom's truth was found"
    script:
        "../../scripts/truth.py"
