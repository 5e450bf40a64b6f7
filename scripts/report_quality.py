"""Rule ``report_quality``: quality of all subjects' images against the limits."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.subject_quality import quality_figure

with rule_log(snakemake.log[0]):
    params, cohort = snakemake.params, read_table(snakemake.input.cohort)
    save_figure(quality_figure(cohort, params.groups, params.limits), *snakemake.output)
