"""Rule ``report_contact_sheet``: small pictures of every subject of a site on one page."""

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.batches import listed_runs
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.contact_sheet import contact_sheet

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    files = listed_runs(inputs, params.files, params.participants)
    page = contact_sheet(snakemake.wildcards.site, read_table(inputs.cohort), files, root="../")
    with whole_file(snakemake.output.page) as temporary:
        temporary.write_text(page, encoding="utf-8")
