"""Rule ``describe_derivatives``: what makes the folder a dataset of BIDS derivatives."""

from pathlib import Path

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.columns import describe_columns
from notears_pfl.io.derivatives import DERIVATIVES, dataset_description, ignored_files
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json

with rule_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    folder = str(Path(output.description).parent)
    derivative = DERIVATIVES[folder]
    write_json(dataset_description(folder, params.sources), output.description)
    for path, text in ((output.readme, derivative.readme), (output.ignored, ignored_files())):
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    for path in output.tables:
        write_json(describe_columns(path, params.groups, params.regions), path)
    for path in output.sidecars:
        write_json(derivative.sidecars[Path(path).name], path)
