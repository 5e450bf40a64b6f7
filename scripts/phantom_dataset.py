"""Rule ``phantom_dataset``: the files at the top of the BIDS dataset."""

import pandas as pd

import notears_pfl
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import write_table
from notears_pfl.phantom.cohort import (
    PARTICIPANTS_SIDECAR,
    README,
    dataset_description,
    participants_table,
)

with rule_log(snakemake.log[0]):
    params = snakemake.params
    participants = participants_table(pd.DataFrame(params.subjects), params.patients, params.seed)
    write_table(participants, snakemake.output.participants, index=False)
    write_json(PARTICIPANTS_SIDECAR, snakemake.output.participants_json)
    write_json(dataset_description(notears_pfl.__version__), snakemake.output.description)
    with whole_file(snakemake.output.readme) as temporary:
        temporary.write_text(README, encoding="utf-8")
