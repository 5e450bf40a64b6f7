"""Rule ``degree``: in, out and total degree of every ROI, the highest, and their sums."""

from notears_pfl.analysis.degree import degree_totals, degrees, top_degrees
from notears_pfl.analysis.edges import edge_table
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    networks = read_networks(snakemake.input.networks, params.group_sites)
    edges = edge_table(networks, params.edge_threshold)
    table = degrees(edges, params.groups, params.sites, params.rois)
    top = top_degrees(table, params.top_rois)
    write_table(table, output.degree, index=False)
    write_table(top, output.top, index=False)
    write_table(degree_totals(table, top, params.groups), output.totals, index=False)
