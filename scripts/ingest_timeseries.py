"""Rule ``ingest_timeseries``: a user's ROI series, checked and labelled, with their reports."""

from notears_pfl.io.batches import files_made, list_made
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.series_files import read_run
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.subject_runs import SubjectRuns
from notears_pfl.io.tables import write_table
from notears_pfl.study.derived_series import run_report, usable_series
from notears_pfl.study.timeseries import checked_series, labelled_series

with rule_log(snakemake.log[0]):
    params = snakemake.params
    for path, subjects in zip(snakemake.output, params.batches, strict=True):
        files = files_made(subjects, params.makes)
        for participant, made in files.items():
            with mark_failure(made.report, [made.series]):
                runs = SubjectRuns([run["name"] for run in params.runs[participant]])
                for run in params.runs[participant]:
                    with runs.attempt(run["name"]), naming(run["series"]):
                        own = read_run(run, params.names[participant], snakemake.input.series)
                        series = labelled_series(
                            usable_series(own, params.layout),
                            params.rois,
                            params.selected,
                            params.columns,
                        )
                        report = run_report(run, own, len(series), params.layout)
                        runs.add(run["name"], checked_series(series, params.selected), report)
                series, report = runs.joined()
                write_table(series, made.series, index=False)
                write_json(report, made.report)
        list_made(files, path)
