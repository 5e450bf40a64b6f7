"""Rule ``report_subjects``: a page for every subject of a site."""

from pathlib import Path

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.batches import listed_runs
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_regions, read_table
from notears_pfl.report.subject_page import read_subject, subject_page

with rule_log(snakemake.log[0]):
    params, folder = snakemake.params, Path(snakemake.output.pages)
    cohort = read_table(snakemake.input.cohort).set_index("participant_id", drop=False)
    rois = read_regions(snakemake.input.rois).set_index("abbreviation", drop=False)
    files = listed_runs(snakemake.input, params.files, params.participants)
    for participant, paths in files.items():
        record = read_subject(cohort.loc[participant], paths)
        page = subject_page(record, rois, params.settings, back="../../index.html")
        with whole_file(folder / f"{participant}.html") as temporary:
            temporary.write_text(page, encoding="utf-8")
