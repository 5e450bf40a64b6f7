"""Rule ``report_evidence``: findings against chance, replication and stability."""

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.certainty import evidence_figure

with rule_log(snakemake.log[0]):
    inputs = snakemake.input
    names = ("draws", "tested", "replicated", "connections")
    figure = evidence_figure(*(read_table(inputs[n]) for n in names), snakemake.params.groups)
    save_figure(figure, *snakemake.output)
