"""Rule ``clean_timeseries``: ROI signals without confounds, trend and other frequencies."""

import pandas as pd

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, naming, read_report
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.subject_runs import SubjectRuns
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.preproc.cautions import with_cautions
from notears_pfl.preproc.clean import (
    check_coverage,
    check_variance,
    plan_cleaning,
)

params = snakemake.params
with rule_log(snakemake.log[0]):
    for subject in Batch.of(snakemake).unfinished():
        output = subject.output
        with mark_failure(output.report, [output.series]):
            runs = SubjectRuns(subject.params.runs, subject.params.lost)
            for name, paths in runs.files(subject.input):
                with runs.attempt(name):
                    report = read_report(paths.report)
                    series, motion = read_table(paths.series), read_table(paths.motion)
                    confounds, coverage = read_table(paths.confounds), pd.Series(report["coverage"])

                    with naming(paths.series):
                        check_coverage(
                            coverage[params.selected].to_numpy(),
                            params.selected,
                            params.min_coverage,
                        )
                        check_variance(series[params.selected].to_numpy(), params.selected)
                        cleaning = plan_cleaning(
                            motion,
                            confounds,
                            report["repetition_time"],
                            params.preproc,
                            report.pop("confounds"),
                        )
                    cleaned = pd.DataFrame(
                        cleaning.apply(series.to_numpy()), columns=series.columns
                    )

                    covered = cleaned.columns[coverage[cleaned.columns] >= params.min_coverage]
                    report["methods"] |= cleaning.methods()
                    report |= cleaning.figures() | {"min_coverage": params.min_coverage}
                    kept = cleaned[covered].reindex(columns=cleaned.columns)
                    runs.add(name, kept, with_cautions(report))
            joined, report = runs.joined()
            write_table(joined, output.series, index=False)
            write_json(report, output.report)
