"""Rule ``report_cohort``: flow of the subjects through the study, and why some were excluded."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.cohort_flow import flow_figure

with rule_log(snakemake.log[0]):
    cohort, flow = read_table(snakemake.input.cohort), read_table(snakemake.input.flow)
    save_figure(flow_figure(flow, cohort, snakemake.params.groups), *snakemake.output)
