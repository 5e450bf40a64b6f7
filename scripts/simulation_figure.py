"""Rule ``simulation_figure``: the four metrics of one experiment."""

import pandas as pd

from notears_pfl.io.rulelog import rule_log
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.simulations import simulation_figure

with rule_log(snakemake.log[0]):
    metrics = pd.read_csv(snakemake.input.metrics, sep="\t")
    figure = simulation_figure(metrics, snakemake.wildcards.experiment)
    save_figure(figure, snakemake.output.png, snakemake.output.svg)
