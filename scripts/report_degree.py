"""Rule ``report_degree``: degrees of the important nodes."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.nodes import degree_figure

with rule_log(snakemake.log[0]):
    params, degree = snakemake.params, read_table(snakemake.input.degree)
    top = read_table(snakemake.input.top)
    save_figure(degree_figure(degree, top, params.groups, len(params.sites)), *snakemake.output)
