from notears_pfl.study.needs import need_of_federation

FEDERATION_NEED = need_of_federation(len(PLAN.sites))


# The same networks, fitted by sites that keep their data, in NVFLARE's simulator on this machine.
rule federated_networks:
    input:
        cohort=rules.cohort.output.participants,
        series=rules.fit_networks.input.series,
        pooled=rules.fit_networks.input.pooled,
    output:
        networks=expand(
            "results/federated/group-{group}_site-{site}_relmat.tsv",
            group=PLAN.groups,
            site=PLAN.sites,
        ),
        sidecars=expand(
            "results/federated/group-{group}_site-{site}_relmat.json",
            group=PLAN.groups,
            site=PLAN.sites,
        ),
        edges=expand("results/federated/group-{group}_edges.tsv", group=PLAN.groups),
        reports=expand("results/federated/group-{group}_fit.json", group=PLAN.groups),
        ledgers=expand("results/federated/sites/{site}/ledger.tsv", site=PLAN.sites),
        statements=expand(
            "results/federated/sites/{site}/statement.md", site=PLAN.sites
        ),
    log:
        "logs/federated_networks.log",
    benchmark:
        "logs/federated_networks.benchmark.tsv"
    conda:
        "../../envs/federated.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: FEDERATION_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: FEDERATION_NEED.minutes * attempt,
    params:
        participants=PLAN.participants,
        groups=PLAN.groups,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        estimator=config["network"]["estimator"],
        # Small, because the phantom's groups are; hospitals choose their own minimum.
        minimum_subjects=2,
        code=code_of("federated_networks"),
    message:
        "Networks: federated fit of all groups (simulated on this machine)"
    script:
        "../../scripts/federated_networks.py"


rule federated_agreement:
    input:
        federated=rules.federated_networks.output.networks,
        pooled=expand(rules.fit_networks.output.networks, group=PLAN.groups),
    output:
        table="results/federated/agreement.tsv",
    log:
        "logs/federated_agreement.log",
    benchmark:
        "logs/federated_agreement.benchmark.tsv"
    conda:
        "../../envs/federated.yaml"
    params:
        group_sites=PLAN.group_sites,
        code=code_of("federated_agreement"),
    message:
        "Analysis: comparing the federated networks with those fitted on one machine"
    script:
        "../../scripts/federated_agreement.py"


# The standard analyses, on the federated networks.
use rule degree as federated_degree with:
    input:
        networks=rules.federated_networks.output.networks,
        evidence=[],
        counts=[],
    output:
        degree="results/federated/analysis/degree.tsv",
        top="results/federated/analysis/degree_top.tsv",
        totals="results/federated/analysis/degree_totals.tsv",
    log:
        "logs/federated_degree.log",
    benchmark:
        "logs/federated_degree.benchmark.tsv"


use rule overlap as federated_overlap with:
    input:
        networks=rules.federated_networks.output.networks,
        evidence=[],
        specific=[],
        counts=[],
    output:
        overlap="results/federated/analysis/overlap.tsv",
        site_specific="results/federated/analysis/site_specific.tsv",
        counts="results/federated/analysis/connection_counts.tsv",
    log:
        "logs/federated_overlap.log",
    benchmark:
        "logs/federated_overlap.benchmark.tsv"
