# Columns of the cohort's table on which the edge weights of subjects are regressed.
REGRESS_ON = config["analysis"].get("regress_on", [])


rule subject_networks:
    input:
        moments=rules.moments.output.moments,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
    output:
        weights=[
            f"results/subject_networks/group-{group}_site-{site}_weights.tsv"
            for group, site in PLAN.group_sites
        ],
    log:
        "logs/subject_networks.log",
    benchmark:
        "logs/subject_networks.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        groups=PLAN.groups,
        sites=PLAN.sites,
        group_sites=PLAN.group_sites,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("subject_networks"),
    message:
        "Analysis: weights of the networks' edges in single subjects"
    script:
        "../../scripts/subject_networks.py"


if REGRESS_ON:

    rule weight_regression:
        input:
            cohort=rules.cohort.output.participants,
            weights=rules.subject_networks.output.weights,
        output:
            table="results/subject_networks/regression.tsv",
        log:
            "logs/weight_regression.log",
        benchmark:
            "logs/weight_regression.benchmark.tsv"
        conda:
            "../../envs/analysis.yaml"
        params:
            group_sites=PLAN.group_sites,
            regress_on=REGRESS_ON,
            covariates=config["analysis"].get("regress_covariates", []),
            code=code_of("weight_regression"),
        message:
            "Analysis: edge weights of subjects against {params.regress_on}"
        script:
            "../../scripts/weight_regression.py"
