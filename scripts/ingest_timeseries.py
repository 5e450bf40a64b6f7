"""Rule ``ingest_timeseries``: a user's ROI series, checked and labelled, with their reports."""

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.series_files import read_run
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.subject_runs import SubjectRuns
from notears_pfl.io.tables import write_table
from notears_pfl.study.derived_series import run_report, usable_series
from notears_pfl.study.timeseries import checked_series, labelled_series

params = snakemake.params
with rule_log(snakemake.log[0]):
    for subject in Batch.of(snakemake).unfinished():
        output, names = subject.output, subject.params.names
        with mark_failure(output.report, [output.series]):
            runs = SubjectRuns([run["name"] for run in subject.params.runs])
            for run in subject.params.runs:
                with runs.attempt(run["name"]), naming(run["series"]):
                    own = read_run(run, names, subject.input.files)
                    series = labelled_series(
                        usable_series(own, params.layout),
                        params.rois,
                        params.selected,
                        params.columns,
                    )
                    report = run_report(run, own, len(series), params.layout)
                    runs.add(run["name"], checked_series(series, params.selected), report)
            series, report = runs.joined()
            write_table(series, output.series, index=False)
            write_json(report, output.report)
