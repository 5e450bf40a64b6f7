"""Rule ``proportion_figure``: differences between the groups, by connection and method."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.method_comparison import comparison_figure

with rule_log(snakemake.log[0]):
    tests = read_table(snakemake.input.tests)
    figure = comparison_figure(tests, snakemake.params.groups, snakemake.params.presence)
    save_figure(figure, snakemake.output.png, snakemake.output.svg)
