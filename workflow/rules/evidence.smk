from notears_pfl.study.needs import need_of_draws

EVIDENCE = config["evidence"]
DRAWN = EVIDENCE[EVIDENCE["preset"]]


wildcard_constraints:
    part=r"\d+",


LARGEST_SITE = max(PLAN.source.participants["site"].value_counts(), default=0)
DRAWS_NEED = need_of_draws(len(PLAN.sites), len(PLAN.atlas.selected), LARGEST_SITE)


rule moments:
    input:
        cohort=rules.cohort.output.participants,
        series=rules.fit_networks.input.series,
    output:
        moments="results/cohort/moments.npz",
    log:
        "logs/moments.log",
    benchmark:
        "logs/moments.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        participants=PLAN.participants,
        sites=PLAN.sites,
        groups=PLAN.tables.groups,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        strata=EVIDENCE["strata"],
        code=code_of("moments"),
    message:
        "Evidence: second moments of every subject"
    script:
        "../../scripts/moments.py"


rule permutation_draws:
    input:
        moments=rules.moments.output.moments,
        pooled=rules.pooled_fit.output.report,
    output:
        draws="results/evidence/draws/permutation-{part}.npz",
    log:
        "logs/permutation_draws/part-{part}.log",
    benchmark:
        "logs/permutation_draws/part-{part}.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: DRAWS_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: DRAWS_NEED.minutes * attempt,
    params:
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        draws=draws_of(DRAWN["permutations"], first=0),
        subsamples=EVIDENCE["subsamples"],
        seed=config["seed"],
        code=code_of("permutation_draws"),
    message:
        "Evidence: networks of permuted labels, part {wildcards.part}"
    script:
        "../../scripts/permutation_draws.py"


rule weight_draws:
    input:
        moments=rules.moments.output.moments,
        pooled=rules.pooled_fit.output.report,
    output:
        draws="results/evidence/draws/weights.npz",
    log:
        "logs/weight_draws.log",
    benchmark:
        "logs/weight_draws.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: DRAWS_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: DRAWS_NEED.minutes * attempt,
    params:
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        permutations=DRAWN["weight_permutations"],
        smallest=EVIDENCE["smallest_difference"],
        seed=config["seed"],
        code=code_of("weight_draws"),
    message:
        "Evidence: weights of connections under permuted labels"
    script:
        "../../scripts/weight_draws.py"


rule bootstrap_draws:
    input:
        moments=rules.moments.output.moments,
        pooled=rules.pooled_fit.output.report,
        fits=expand(rules.fit_networks.output.report, group=PLAN.groups),
    output:
        draws="results/evidence/draws/bootstrap-{part}.npz",
    log:
        "logs/bootstrap_draws/part-{part}.log",
    benchmark:
        "logs/bootstrap_draws/part-{part}.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: DRAWS_NEED.megabytes * attempt,
        runtime=lambda wildcards, attempt: DRAWS_NEED.minutes * attempt,
    params:
        sites=PLAN.sites,
        rois=PLAN.atlas.selected,
        draws=draws_of(DRAWN["bootstraps"]),
        seed=config["seed"],
        code=code_of("bootstrap_draws"),
    message:
        "Evidence: networks of resampled subjects, part {wildcards.part}"
    script:
        "../../scripts/bootstrap_draws.py"


rule replication:
    input:
        moments=rules.moments.output.moments,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        fits=expand(rules.fit_networks.output.report, group=PLAN.groups),
    output:
        summary="results/evidence/replication.tsv",
        edges="results/evidence/replicated_edges.tsv",
    log:
        "logs/replication.log",
    benchmark:
        "logs/replication.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        groups=PLAN.groups,
        sites=PLAN.sites,
        group_sites=PLAN.group_sites,
        rois=PLAN.atlas.selected,
        estimator=config["network"]["estimator"],
        seed=config["seed"],
        code=code_of("replication"),
    message:
        "Evidence: connections of the discovery set in the validation set"
    script:
        "../../scripts/replication.py"


rule evidence:
    input:
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        permutations=expand(
            rules.permutation_draws.output.draws, part=parts_of(DRAWN["permutations"])
        ),
        weights=rules.weight_draws.output.draws,
        bootstraps=expand(
            rules.bootstrap_draws.output.draws, part=parts_of(DRAWN["bootstraps"])
        ),
        replicated=rules.replication.output.edges,
    output:
        connections="results/evidence/connections.tsv",
        degree="results/evidence/degree.tsv",
        counts="results/evidence/counts.tsv",
        site_specific="results/evidence/site_specific.tsv",
        null_connections="results/evidence/null_connections.tsv",
        null_counts="results/evidence/null_counts.tsv",
    log:
        "logs/evidence.log",
    benchmark:
        "logs/evidence.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        group_sites=PLAN.group_sites,
        rois=PLAN.atlas.selected,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("evidence"),
    message:
        "Evidence: connections, degrees and counts with their chance level"
    script:
        "../../scripts/evidence.py"
