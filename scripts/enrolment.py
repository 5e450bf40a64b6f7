"""Rule ``enrolment``: everybody in the datasets, and why some are not processed."""

import pandas as pd

from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    participants = pd.DataFrame(snakemake.params.participants)
    write_table(participants, snakemake.output.participants, index=False)
