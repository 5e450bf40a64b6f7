"""Rule ``overlap``: connections of all sites, of one site, and how many of each."""

from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    networks = read_networks(snakemake.input.networks, params.group_sites)
    edges = edge_table(networks, params.edge_threshold)
    overlap = overlapping_connections(edges, params.groups, params.sites)
    write_table(overlap, output.overlap, index=False)
    write_table(site_specific_connections(edges), output.site_specific, index=False)
    write_table(connection_counts(edges, params.groups, params.sites), output.counts, index=False)
