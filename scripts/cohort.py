"""Rule ``cohort``: who is in the study and why not, in which half, and how alike the groups are."""

from notears_pfl.cohort.assemble import assemble_cohort
from notears_pfl.cohort.balance import balance_table
from notears_pfl.cohort.exclusion import Limits
from notears_pfl.cohort.matching import Matching
from notears_pfl.cohort.table_one import described_columns, flow_table, table_one
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.study.participants import standard_participants

with rule_log(snakemake.log[0]):
    params = snakemake.params
    path = snakemake.input.participants
    everybody = read_table(path, text=params.columns.values())
    participants = standard_participants(everybody, **params.columns, name=path)
    reports = ListedFiles(snakemake.input.reports, "report", params.participants)
    matching = Matching(**params.matching)
    cohort = assemble_cohort(
        participants,
        {name: read_sidecar(report) for name, report in reports.items()},
        params.groups,
        params.sites,
        Limits(**params.limits),
        params.discovery_share,
        params.seed,
        matching,
        path,
    )
    included = cohort[cohort["included"]]
    described = described_columns(included, [*params.describe, *matching.columns])
    write_table(cohort, snakemake.output.participants, index=False)
    write_table(flow_table(cohort), snakemake.output.flow, index=False)
    write_table(
        table_one(included, params.groups, described), snakemake.output.table_one, index=False
    )
    write_table(
        balance_table(cohort, params.groups, params.sites, described),
        snakemake.output.balance,
        index=False,
    )
