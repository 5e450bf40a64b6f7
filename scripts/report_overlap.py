"""Rule ``report_overlap``: figure of the connections that all sites have."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.finding_figures import overlap_figure
from notears_pfl.report.findings import selected_rois
from notears_pfl.report.style import save_figure

with rule_log(snakemake.log[0]):
    params, rois = snakemake.params, selected_rois(snakemake.input.rois)
    overlap = read_table(snakemake.input.overlap)
    save_figure(overlap_figure(overlap, params.groups, len(params.sites), rois), *snakemake.output)
