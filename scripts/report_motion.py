"""Rule ``report_motion``: head motion of all subjects by site and group."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.cohort_flow import motion_figure

with rule_log(snakemake.log[0]):
    params, cohort = snakemake.params, read_table(snakemake.input.cohort)
    save_figure(motion_figure(cohort, params.groups, params.limits), *snakemake.output)
