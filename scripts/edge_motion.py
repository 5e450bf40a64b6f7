"""Rule ``edge_motion``: whether a connection could be head motion."""

from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.motion import motion_association
from notears_pfl.cohort.samples import scaled_series
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_networks, read_subjects
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params = snakemake.params
    cohort = read_table(snakemake.input.cohort)
    included = cohort[cohort["included"]]
    paths = ListedFiles(snakemake.input.series, "series", params.participants)
    networks = read_networks(snakemake.input.networks, params.group_sites)
    raw = read_subjects(included["participant_id"], paths, params.rois)
    edges, series = edge_table(networks, params.edge_threshold), scaled_series(raw, params.scale)
    table = motion_association(edges, series, included)
    write_table(table, snakemake.output.table, index=False)
