from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/ingest.smk"
include: "workflow/rules/report.smk"


rule all:
    input:
        rules.validate_bids.output,
        rules.phantom_figure.output,
