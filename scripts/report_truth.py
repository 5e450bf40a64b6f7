"""Rule ``report_truth``: agreement of the estimated networks with the phantom's true networks."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.phantom_truth import truth_figure

with rule_log(snakemake.log[0]):
    save_figure(truth_figure(read_table(snakemake.input.truth)), *snakemake.output)
