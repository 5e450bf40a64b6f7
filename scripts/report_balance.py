"""Rule ``report_balance``: how alike patients and controls are."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.group_balance import balance_figure

with rule_log(snakemake.log[0]):
    save_figure(balance_figure(read_table(snakemake.input.balance)), *snakemake.output)
