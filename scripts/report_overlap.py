"""Rule ``report_overlap``: connections found at all sites."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_regions, read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.findings import selected_rois
from notears_pfl.report.sections.site_networks import overlap_figure

with rule_log(snakemake.log[0]):
    params, rois = snakemake.params, selected_rois(read_regions(snakemake.input.rois))
    overlap = read_table(snakemake.input.overlap)
    save_figure(overlap_figure(overlap, params.groups, len(params.sites), rois), *snakemake.output)
