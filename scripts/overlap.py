"""Rule ``overlap``: connections of all sites, of one site, and how many of each."""

from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.judged import judged_counts, judged_overlap, judged_site_specific
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_if_given, write_table

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    networks = read_networks(inputs.networks, params.group_sites)
    evidence, specific, chance = (
        read_if_given(path) for path in (inputs.evidence, inputs.specific, inputs.counts)
    )
    edges = edge_table(networks, params.edge_threshold)
    overlap = overlapping_connections(edges, params.groups, params.sites)
    alone = site_specific_connections(edges)
    counts = connection_counts(edges, params.groups, params.sites)
    write_table(judged_overlap(overlap, evidence), output.overlap, index=False)
    write_table(judged_site_specific(alone, specific), output.site_specific, index=False)
    write_table(judged_counts(counts, chance), output.counts, index=False)
