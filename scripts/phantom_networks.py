"""Rule ``phantom_networks``: the true network of every site and group."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table
from notears_pfl.phantom.true_networks import NetworkOptions, draw_edges, true_network
from notears_pfl.seeds import stream

with rule_log(snakemake.log[0]):
    params = snakemake.params
    options = NetworkOptions(**params.network)
    edges = draw_edges(stream(params.seed, "edges"), params.rois, params.sites, options)
    write_table(edges, snakemake.output.edges, index=False)
    paths = iter(snakemake.output.networks)
    for group in params.groups:
        for site in params.sites:
            rng = stream(params.seed, "weights", group, site)
            is_patients = group == params.groups[0]
            network = true_network(
                rng, edges, params.rois, site, is_patients, options.weight_variation
            )
            write_table(network, next(paths))
