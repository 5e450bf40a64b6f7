"""Rule ``report_cohort``: figure of who stayed at each step, and why others did not."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.cohort_figures import flow_figure
from notears_pfl.report.style import save_figure

with rule_log(snakemake.log[0]):
    cohort, flow = read_table(snakemake.input.cohort), read_table(snakemake.input.flow)
    save_figure(flow_figure(flow, cohort, snakemake.params.groups), *snakemake.output)
