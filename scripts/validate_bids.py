"""Rule ``validate_bids``: the official BIDS validator's verdict on the dataset."""

from pathlib import Path

from notears_pfl.io.bids_validator import validate_dataset
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json

with rule_log(snakemake.log[0]):
    dataset = Path(snakemake.input.dataset[0]).parent
    write_json(validate_dataset(dataset), snakemake.output.report)
