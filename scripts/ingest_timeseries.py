"""Rule ``ingest_timeseries``: a user's ROI series, checked and labelled, with their reports."""

import numpy as np

from notears_pfl.io.batches import files_made, list_made
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.series_files import read_series, series_path
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import write_table
from notears_pfl.study.timeseries import checked_series, labelled_series

with rule_log(snakemake.log[0]):
    params = snakemake.params
    for path, subjects in zip(snakemake.output, params.batches, strict=True):
        files = files_made(subjects, params.makes)
        for participant, made in files.items():
            names = params.names[participant]
            source = series_path(params.series, *names)
            with mark_failure(made.report, [made.series]), naming(source):
                series = read_series(params.series, *names, planned=snakemake.input.series)
                if isinstance(series, np.ndarray):
                    series = labelled_series(series, params.rois, params.selected)
                write_table(checked_series(series, params.selected), made.series, index=False)
                content = {"status": "ok", "sources": [str(source)], "n_volumes": len(series)}
                write_json(content, made.report)
        list_made(files, path)
