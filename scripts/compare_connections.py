"""Rule ``compare_connections``: what to test, the published list and this study's own overlap."""

from notears_pfl.analysis.connections import connections_to_test
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    path = snakemake.input.published
    overlap = read_table(snakemake.input.overlap)
    connections = connections_to_test(read_table(path), overlap, snakemake.params.rois, path)
    write_table(connections, snakemake.output.connections, index=False)
