"""Rule ``simulation_page``: settings, best methods and costs of the simulations."""

import pandas as pd

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.rulelog import rule_log
from notears_pfl.report.sections.simulations import simulation_page

with rule_log(snakemake.log[0]):
    wins = pd.read_csv(snakemake.input.wins, sep="\t")
    cost = pd.read_csv(snakemake.input.cost, sep="\t")
    page = simulation_page(wins, cost, snakemake.params.methods, snakemake.params.graphs)
    with whole_file(snakemake.output.page) as temporary:
        temporary.write_text(page, encoding="utf-8")
