from notears_pfl.simulate.sites import EXPERIMENTS, list_runs

SIMULATION = config["simulation"]
SIMULATED_RUNS = list_runs(SIMULATION[SIMULATION["preset"]], SIMULATION["weights"])
# The report shows only simulations run with the current settings.
SIMULATION_SETTINGS = {
    **{
        f"simulation.{name}": SIMULATION[name]
        for name in ("weights", "graphs", "methods")
    },
    f"simulation.{SIMULATION['preset']}": SIMULATION[SIMULATION["preset"]],
    "seed": config["seed"],
}


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    value=r"\d+",
    weights="per_site|shared",
    run=r"\d+",


rule simulation_run:
    output:
        table="results/simulate/runs/{experiment}-{value}_weights-{weights}_run-{run}.tsv",
    log:
        "logs/simulation_run/{experiment}-{value}_weights-{weights}_run-{run}.log",
    benchmark:
        "logs/simulation_run/{experiment}-{value}_weights-{weights}_run-{run}.benchmark.tsv"
    conda:
        "../../envs/simulate.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        graphs=SIMULATION["graphs"],
        methods=SIMULATION["methods"],
        seed=config["seed"],
        code=code_of("simulation_run"),
    message:
        "Simulation: {wildcards.experiment} {wildcards.value}, weights {wildcards.weights}, run {wildcards.run}"
    script:
        "../../scripts/simulation_run.py"


rule simulation_metrics:
    input:
        runs=expand(
            rules.simulation_run.output.table, zip, **SIMULATED_RUNS.to_dict("list")
        ),
    output:
        metrics="results/simulate/metrics.tsv",
        wins="results/simulate/wins.tsv",
        cost="results/simulate/cost.tsv",
        record="results/simulate/metrics.json",
    log:
        "logs/simulation_metrics.log",
    benchmark:
        "logs/simulation_metrics.benchmark.tsv"
    conda:
        "../../envs/simulate.yaml"
    params:
        settings=SIMULATION_SETTINGS,
        columns=describe_columns(
            "results/simulate/metrics.json", PLAN.groups, PLAN.atlas.rois
        ),
        code=code_of("simulation_metrics"),
    message:
        "Simulation: metrics, best methods and costs"
    script:
        "../../scripts/simulation_metrics.py"


rule simulation_figure:
    input:
        metrics=rules.simulation_metrics.output.metrics,
    output:
        png=report(
            "results/simulate/figure_{experiment}.png",
            caption="../report/simulation.rst",
            category="Simulations",
            labels={"figure": "{experiment}"},
        ),
        svg="results/simulate/figure_{experiment}.svg",
    log:
        "logs/simulation_figure/{experiment}.log",
    benchmark:
        "logs/simulation_figure/{experiment}.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        code=code_of("simulation_figure"),
    message:
        "Simulation: figure of {wildcards.experiment}"
    script:
        "../../scripts/simulation_figure.py"


rule simulation_page:
    input:
        wins=rules.simulation_metrics.output.wins,
        cost=rules.simulation_metrics.output.cost,
    output:
        page="results/simulate/README.md",
    log:
        "logs/simulation_page.log",
    benchmark:
        "logs/simulation_page.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        graphs=SIMULATION["graphs"],
        methods=SIMULATION["methods"],
        code=code_of("simulation_page"),
    message:
        "Simulation: writing the page of results"
    script:
        "../../scripts/simulation_page.py"
