"""Rule ``export_networks``: all networks for other programs, with what is known of every edge."""

from pathlib import Path

import pandas as pd

from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.exchange import exported_edges, graphs, node_table, with_stability
from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.io.arrays import read_arrays
from notears_pfl.io.graph_files import write_brainnet, write_graphml
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_regions, read_table, write_table

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    folder, names = Path(output.edges).parent, (params.groups, params.sites, params.rois)
    weights = read_networks(inputs.networks, params.group_sites)
    networks = {key: w.where(w.abs() > params.edge_threshold, 0.0) for key, w in weights.items()}
    drawn = Bootstraps.joined(Bootstraps(**read_arrays(path)) for path in inputs.bootstraps)
    details = pd.concat(
        read_table(path).assign(group=group)
        for group, path in zip(params.groups, inputs.details, strict=True)
    )
    tests, nodes = read_table(inputs.tests), node_table(read_regions(inputs.regions))
    found = with_stability(edge_table(networks, 0.0), drawn.selection, drawn.direction, names)
    edges = exported_edges(found, details, tests, nodes)
    write_table(nodes, output.nodes, index=False)
    write_table(edges, output.edges, index=False)
    for graph in graphs(networks, edges, tests):
        write_graphml(nodes, graph.edges, graph.about, folder / f"{graph.name}.graphml")
        write_brainnet(nodes, graph.network, folder / graph.name)
