"""Rule ``simulation_metrics``: all runs in long form, who wins where, and the cost of a fit."""

import pandas as pd

from notears_pfl.io.provenance import write_record
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table
from notears_pfl.simulate.metrics import cost, long_form, wins

with rule_log(snakemake.log[0]):
    runs = pd.concat([pd.read_csv(path, sep="\t") for path in snakemake.input.runs])
    metrics = long_form(runs)
    write_table(metrics, snakemake.output.metrics, index=False)
    write_table(wins(metrics), snakemake.output.wins, index=False)
    write_table(cost(runs), snakemake.output.cost, index=False)
    params = snakemake.params
    write_record(params.settings, [], snakemake.output.record, params.columns)
