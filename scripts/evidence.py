"""Rule ``evidence``: every finding with its chance level, from all draws."""

from notears_pfl.analysis import chance
from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.evidence.significance import Draws, WeightTest, summarise
from notears_pfl.io.arrays import read_arrays
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    networks = read_networks(inputs.networks, params.group_sites)
    arrays = read_arrays(inputs.weights)
    tested, share = arrays.pop("tested"), float(arrays.pop("share_of_one"))
    weights = WeightTest(**arrays)
    draws = Draws.joined(Draws(**read_arrays(path)) for path in inputs.permutations)
    names = (params.groups, params.sites, params.rois)
    study = chance.Compared(
        chance.stacked_networks(networks, *names[:2], params.edge_threshold),
        *names,
        summarise(tested, weights, draws),
        Bootstraps.joined(Bootstraps(**read_arrays(path)) for path in inputs.bootstraps),
    )
    connections = chance.connection_table(study, read_table(inputs.replicated))
    write_table(connections, output.connections, index=False)
    write_table(chance.degree_table(study), output.degree, index=False)
    write_table(chance.count_table(study, share), output.counts, index=False)
    write_table(chance.site_specific_table(study), output.site_specific, index=False)
    write_table(chance.tested_table(study, weights), output.null_connections, index=False)
    write_table(chance.count_draws(study), output.null_counts, index=False)
