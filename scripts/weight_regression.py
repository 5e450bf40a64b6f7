"""Rule ``weight_regression``: subjects' edge weights against their characteristics."""

from notears_pfl.analysis.weight_regression import regress_weights
from notears_pfl.cohort.covariates import predictors, subjects_without_values
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params, path = snakemake.params, snakemake.input.cohort
    cohort = read_table(path)
    subjects = cohort[cohort["included"]]
    weights = {
        pair: read_table(table)
        for pair, table in zip(params.group_sites, snakemake.input.weights, strict=True)
    }
    described = {
        "analysis.regress_on": params.regress_on,
        "analysis.regress_covariates": params.covariates,
    }
    for setting, columns in described.items():
        left_out = subjects_without_values(subjects, columns, setting, "They are left out.")
        print(*left_out, sep="\n")
    table = regress_weights(
        weights,
        predictors(subjects, params.regress_on, path, "analysis.regress_on", every=True),
        predictors(subjects, params.covariates, path, "analysis.regress_covariates"),
    )
    write_table(table, snakemake.output.table, index=False)
