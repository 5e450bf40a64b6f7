"""Rule ``compare_draws``: who is in which draw, and where draws are too alike."""

from notears_pfl.cohort.draws import describe_draws, draw_subjects
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params = snakemake.params
    cohort = read_table(snakemake.input.cohort)
    who = (cohort, params.groups, params.sites)
    draws = draw_subjects(*who, params.sizes, params.draws, params.seed)
    write_table(draws, snakemake.output.draws, index=False)
    write_table(describe_draws(draws, *who, params.sizes), snakemake.output.sites, index=False)
