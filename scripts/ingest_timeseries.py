"""Rule ``ingest_timeseries``: a user's ROI series, checked and labelled, with their reports."""

import numpy as np

from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.series_files import read_series, series_path
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import write_table
from notears_pfl.study.timeseries import checked_series, labelled_series

with rule_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    for participant, table, report in zip(
        params.participants, output.series, output.reports, strict=True
    ):
        names = params.names[participant]
        source = series_path(params.series, *names)
        with mark_failure(report, [table]), naming(source):
            series = read_series(params.series, *names, planned=snakemake.input.series)
            if isinstance(series, np.ndarray):
                series = labelled_series(series, params.rois, params.selected)
            write_table(checked_series(series, params.selected), table, index=False)
            content = {"status": "ok", "sources": [str(source)], "n_volumes": len(series)}
            write_json(content, report)
