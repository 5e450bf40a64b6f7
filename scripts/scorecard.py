"""Rule ``scorecard``: which published results come back, and how many would by chance."""

from pathlib import Path

from notears_pfl.analysis.scorecard import scorecard
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    published = {Path(path).stem: read_table(path) for path in inputs.published}
    own = [read_table(path) for path in (inputs.overlap, inputs.site_specific, inputs.top)]
    table = scorecard(published, *own, params.groups, params.rois)
    write_table(table, snakemake.output.table, index=False)
    print(table.to_string(index=False))
