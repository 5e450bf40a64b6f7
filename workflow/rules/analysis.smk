rule degree:
    input:
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
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
        "Analysis: connections of all sites, and of one site only"
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
        "Analysis: how far directions rest on scale"
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
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("edge_motion"),
    message:
        "Analysis: which connections follow head motion"
    script:
        "../../scripts/edge_motion.py"
