"""Rule ``report_degree``: figure of the important nodes."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.degree_figure import degree_figure
from notears_pfl.report.style import save_figure

with rule_log(snakemake.log[0]):
    params, degree = snakemake.params, read_table(snakemake.input.degree)
    top = read_table(snakemake.input.top)
    save_figure(degree_figure(degree, top, params.groups, len(params.sites)), *snakemake.output)
