"""Rule ``srpbs_dataset``: the files at the top of the converted dataset."""

import pandas as pd

import notears_pfl
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import write_table
from notears_pfl.study.srpbs_to_bids import PARTICIPANTS_SIDECAR, README, dataset_description

with rule_log(snakemake.log[0]):
    participants = pd.DataFrame(snakemake.params.participants)
    enrolled = participants[participants["not_enrolled"] == ""].drop(columns="not_enrolled")
    write_table(enrolled, snakemake.output.participants, index=False)
    write_json(PARTICIPANTS_SIDECAR, snakemake.output.participants_json)
    write_json(dataset_description(notears_pfl.__version__), snakemake.output.description)
    with whole_file(snakemake.output.readme) as temporary:
        temporary.write_text(README, encoding="utf-8")
