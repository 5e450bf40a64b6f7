rule degree:
    input:
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        evidence=rules.evidence.output.degree,
        counts=rules.evidence.output.counts,
    output:
        degree="results/analysis/degree.tsv",
        top="results/analysis/degree_top.tsv",
        totals="results/analysis/degree_totals.tsv",
    log:
        "logs/degree.log",
    benchmark:
        "logs/degree.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        group_sites=PLAN.group_sites,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        edge_threshold=config["analysis"]["edge_threshold"],
        top_rois=config["analysis"]["top_rois"],
        code=code_of("degree"),
    message:
        "Analysis: connection degrees"
    script:
        "../../scripts/degree.py"


rule overlap:
    input:
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        evidence=rules.evidence.output.connections,
        specific=rules.evidence.output.site_specific,
        counts=rules.evidence.output.counts,
    output:
        overlap="results/analysis/overlap.tsv",
        site_specific="results/analysis/site_specific.tsv",
        counts="results/analysis/connection_counts.tsv",
    log:
        "logs/overlap.log",
    benchmark:
        "logs/overlap.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        group_sites=PLAN.group_sites,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("overlap"),
    message:
        "Analysis: connections found at all sites, and at only one site"
    script:
        "../../scripts/overlap.py"


rule scale_audit:
    input:
        cohort=rules.cohort.output.participants,
        series=rules.fit_networks.input.series,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        other=expand(rules.fit_networks_other_scale.output.networks, group=PLAN.groups),
    output:
        table="results/analysis/scale_audit.tsv",
    log:
        "logs/scale_audit.log",
    benchmark:
        "logs/scale_audit.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PLAN.participants,
        group_sites=PLAN.group_sites,
        groups=PLAN.tables.groups,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        edge_threshold=config["analysis"]["edge_threshold"],
        sort_threshold=config["network"]["estimator"]["threshold"],
        code=code_of("scale_audit"),
    message:
        "Analysis: dependence of the directions on the scale of the data"
    script:
        "../../scripts/scale_audit.py"


rule edge_motion:
    input:
        cohort=rules.cohort.output.participants,
        series=rules.fit_networks.input.series,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
    output:
        table="results/analysis/edge_motion.tsv",
    log:
        "logs/edge_motion.log",
    benchmark:
        "logs/edge_motion.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PLAN.participants,
        group_sites=PLAN.group_sites,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("edge_motion"),
    message:
        "Analysis: association of connections with head motion"
    script:
        "../../scripts/edge_motion.py"


if PLAN.kind == "phantom":

    # The same fits on the phantom's true series, to separate estimation errors from preprocessing
    # errors.
    use rule pooled_fit as pooled_fit_true_series with:
        input:
            cohort=rules.cohort.output.participants,
            series=batches_of("phantom_subject"),
        output:
            report="results/fit/true_series/pooled_fit.json",
        log:
            "logs/pooled_fit_true_series.log",
        benchmark:
            "logs/pooled_fit_true_series.benchmark.tsv"
        message:
            "Networks: fitting both groups together to the phantom's true series"

    use rule fit_networks as fit_networks_true_series with:
        input:
            cohort=rules.cohort.output.participants,
            series=batches_of("phantom_subject"),
            pooled=rules.pooled_fit_true_series.output.report if JOINT else [],
        output:
            networks=expand(
                "results/fit/true_series/group-{{group}}_site-{site}_relmat.tsv",
                site=PLAN.sites,
            ),
            sidecars=expand(
                "results/fit/true_series/group-{{group}}_site-{site}_relmat.json",
                site=PLAN.sites,
            ),
            edges="results/fit/true_series/group-{group}_edges.tsv",
            report="results/fit/true_series/group-{group}_fit.json",
        log:
            "logs/fit_networks_true_series/group-{group}.log",
        benchmark:
            "logs/fit_networks_true_series/group-{group}.benchmark.tsv"
        message:
            "Networks: fitting {wildcards.group} to the phantom's true series"

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
            "Analysis: agreement with the phantom's true networks"
        script:
            "../../scripts/truth.py"


if EVIDENCE.get("published"):

    rule scorecard:
        input:
            published=expand(
                "{folder}/{table}.tsv",
                folder=EVIDENCE["published"],
                table=[
                    "overlapping_connections",
                    "site_specific_connections",
                    "connection_degree_top10",
                ],
            ),
            overlap=rules.overlap.output.overlap,
            site_specific=rules.overlap.output.site_specific,
            top=rules.degree.output.top,
        output:
            table="results/evidence/scorecard.tsv",
        log:
            "logs/scorecard.log",
        benchmark:
            "logs/scorecard.benchmark.tsv"
        conda:
            "../../envs/analysis.yaml"
        params:
            groups=PLAN.tables.groups,
            rois=PLAN.atlas.selected,
            code=code_of("scorecard"),
        message:
            "Evidence: published results that come back"
        script:
            "../../scripts/scorecard.py"
