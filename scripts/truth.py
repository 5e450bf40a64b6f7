"""Rule ``truth``: what of the phantom's truth was found, from preprocessed and true series."""

import pandas as pd

from notears_pfl.analysis.truth import truth_table
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    true = read_networks(inputs.truth, params.group_sites)
    tables = {
        name: truth_table(
            read_networks(paths, params.group_sites),
            true,
            params.edge_threshold,
            params.groups,
            params.sites,
        )
        for name, paths in (("preprocessed", inputs.networks), ("true", inputs.true_series))
    }
    table = pd.concat(tables, names=["series", None]).reset_index("series")
    write_table(table, snakemake.output.table, index=False)
