from notears_pfl.analysis.connections import check_published
from notears_pfl.io.columns import describe_columns
from notears_pfl.io.tables import read_table

COMPARISON = config["comparison"]
DRAWS = list(range(1, COMPARISON["n_draws"] + 1))
DRAW_SIZES = (COMPARISON["patients_per_site"], COMPARISON["controls_per_site"])
# Settings of the comparison: the report shows only results obtained with the current settings.
COMPARISON_SETTINGS = {
    "groups": PLAN.groups,
    "sites": PLAN.sites,
    "rois": PLAN.atlas.selected,
    "network.scale": config["network"]["scale"],
    "network.estimator": config["network"]["estimator"],
    "seed": config["seed"],
    **{f"comparison.{name}": value for name, value in COMPARISON.items()},
}

# Every run includes the comparison, so a list that does not fit the study is refused before any job.
try:
    if workflow.is_main_process and os.path.exists(COMPARISON["connections"]):
        check_published(
            read_table(COMPARISON["connections"]),
            PLAN.atlas.selected,
            COMPARISON["connections"],
        )
except PflError as error:
    raise WorkflowError(f"This study cannot be run as it is configured.\n{error}")


wildcard_constraints:
    draw=r"\d+",


rule compare_draws:
    input:
        cohort=rules.cohort.output.participants,
    output:
        draws="results/compare/draws.tsv",
        sites="results/compare/draw_sites.tsv",
    log:
        "logs/compare_draws.log",
    benchmark:
        "logs/compare_draws.benchmark.tsv"
    conda:
        "../../envs/compare.yaml"
    params:
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        sizes=DRAW_SIZES,
        draws=DRAWS,
        seed=config["seed"],
        code=code_of("compare_draws"),
    message:
        "Comparison: drawing validation subjects"
    script:
        "../../scripts/compare_draws.py"


rule compare_connections:
    input:
        published=COMPARISON["connections"],
        overlap=rules.overlap.output.overlap,
    output:
        connections="results/compare/connections.tsv",
    log:
        "logs/compare_connections.log",
    benchmark:
        "logs/compare_connections.benchmark.tsv"
    conda:
        "../../envs/compare.yaml"
    params:
        rois=PLAN.atlas.selected,
        code=code_of("compare_connections"),
    message:
        "Comparison: listing the connections to test"
    script:
        "../../scripts/compare_connections.py"


rule compare_networks:
    input:
        cohort=rules.cohort.output.participants,
        series=rules.fit_networks.input.series,
        pooled=rules.fit_networks.input.pooled,
    output:
        edges="results/compare/draws/draw-{draw}_edges.tsv",
        networks="results/compare/draws/draw-{draw}_networks.tsv",
        cost="results/compare/draws/draw-{draw}_cost.tsv",
    log:
        "logs/compare_networks/draw-{draw}.log",
    benchmark:
        "logs/compare_networks/draw-{draw}.benchmark.tsv"
    conda:
        "../../envs/compare.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        participants=PLAN.participants,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        sizes=DRAW_SIZES,
        rois=PLAN.atlas.selected,
        scale=config["network"]["scale"],
        baselines=COMPARISON["baselines"],
        estimator=config["network"]["estimator"],
        methods={
            "max_condition": COMPARISON["pc"]["max_condition"],
            **COMPARISON["granger"],
        },
        seed=config["seed"],
        code=code_of("compare_networks"),
    message:
        "Comparison: fitting all methods to draw {wildcards.draw}"
    script:
        "../../scripts/compare_networks.py"


rule proportion_tests:
    input:
        cohort=rules.cohort.output.participants,
        draws=rules.compare_draws.output.draws,
        sites=rules.compare_draws.output.sites,
        connections=rules.compare_connections.output.connections,
        edges=expand(rules.compare_networks.output.edges, draw=DRAWS),
        networks=expand(rules.compare_networks.output.networks, draw=DRAWS),
        cost=expand(rules.compare_networks.output.cost, draw=DRAWS),
        sources=rules.compare_connections.input,
        series=rules.fit_networks.input.series,
    output:
        tests="results/compare/proportion_tests.tsv",
        record="results/compare/proportion_tests.json",
        edges="results/compare/edges.tsv",
        cost="results/compare/cost.tsv",
    log:
        "logs/proportion_tests.log",
    benchmark:
        "logs/proportion_tests.benchmark.tsv"
    conda:
        "../../envs/compare.yaml"
    params:
        participants=PLAN.participants,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        presence=COMPARISON["presence"],
        permutations=COMPARISON["permutations"],
        seed=config["seed"],
        settings=COMPARISON_SETTINGS,
        columns=describe_columns(
            "results/compare/proportion_tests.json", PLAN.groups, PLAN.atlas.rois
        ),
        code=code_of("proportion_tests"),
    message:
        "Comparison: testing every connection for every method"
    script:
        "../../scripts/proportion_tests.py"


rule proportion_figure:
    input:
        tests=rules.proportion_tests.output.tests,
    output:
        png=report(
            "results/compare/figure_proportions.png",
            caption="../report/figure_proportions.rst",
            category="Comparison",
            labels={"figure": "proportions"},
        ),
        svg="results/compare/figure_proportions.svg",
    log:
        "logs/proportion_figure.log",
    benchmark:
        "logs/proportion_figure.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        presence=COMPARISON["presence"],
        code=code_of("proportion_figure"),
    message:
        "Comparison: figure of the group differences"
    script:
        "../../scripts/proportion_figure.py"
