"""Rule ``degree``: in, out and total degree of every ROI, the highest, and their sums."""

from notears_pfl.analysis.degree import degree_totals, degrees, top_degrees
from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.judged import judged_degrees, judged_top, judged_totals
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_if_given, write_table

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    networks = read_networks(inputs.networks, params.group_sites)
    evidence, counts = read_if_given(inputs.evidence), read_if_given(inputs.counts)
    edges = edge_table(networks, params.edge_threshold)
    table = degrees(edges, params.groups, params.sites, params.rois)
    top = top_degrees(table, params.top_rois)
    totals = degree_totals(table, top, params.groups)
    write_table(judged_degrees(table, evidence), output.degree, index=False)
    write_table(judged_top(top, evidence), output.top, index=False)
    write_table(judged_totals(totals, counts), output.totals, index=False)
