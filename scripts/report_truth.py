"""Rule ``report_truth``: figure of what of the phantom's truth each stage keeps."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.style import save_figure
from notears_pfl.report.truth_figure import truth_figure

with rule_log(snakemake.log[0]):
    save_figure(truth_figure(read_table(snakemake.input.truth)), *snakemake.output)
