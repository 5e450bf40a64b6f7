"""Rule ``report_motion``: figure of how everyone moved, by site and group."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.cohort_figures import motion_figure
from notears_pfl.report.style import save_figure

with rule_log(snakemake.log[0]):
    params, cohort = snakemake.params, read_table(snakemake.input.cohort)
    save_figure(motion_figure(cohort, params.groups, params.limits), *snakemake.output)
