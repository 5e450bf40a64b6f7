"""Rule ``simulation_run``: simulate the sites once and let every method learn from them."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table
from notears_pfl.simulate.experiments import MethodOptions, Run, run_simulation
from notears_pfl.simulate.sites import GraphOptions

with rule_log(snakemake.log[0]):
    params, wildcards = snakemake.params, snakemake.wildcards
    results = run_simulation(
        Run(wildcards.experiment, int(wildcards.value), wildcards.weights, int(wildcards.run)),
        seed=params.seed,
        graph_options=GraphOptions(**params.graphs),
        method_options=MethodOptions(**params.methods),
    )
    write_table(results, snakemake.output.table, index=False)
