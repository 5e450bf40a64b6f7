"""Rule ``table_columns``: what the columns of every table mean, as JSON beside the table."""

from notears_pfl.io.columns import describe_columns
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json

with rule_log(snakemake.log[0]):
    params = snakemake.params
    for path in snakemake.output:
        others = params.others if path == snakemake.output.get("participants") else {}
        write_json(describe_columns(path, params.groups, params.regions, others), path)
