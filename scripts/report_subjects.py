"""Rule ``report_subjects``: a page for every subject of a site."""

from pathlib import Path

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.contact_sheet import files_of
from notears_pfl.report.subject_page import read_subject, subject_page

with rule_log(snakemake.log[0]):
    params, folder = snakemake.params, Path(snakemake.output.pages)
    cohort = read_table(snakemake.input.cohort).set_index("participant_id", drop=False)
    rois = read_table(snakemake.input.rois).set_index("abbreviation", drop=False)
    kinds = [kind for kind in snakemake.input.keys() if kind not in ("cohort", "rois")]  # noqa: SIM118
    files = files_of(params.participants, {kind: snakemake.input[kind] for kind in kinds})
    for participant, paths in files.items():
        record = read_subject(cohort.loc[participant], paths)
        page = subject_page(record, rois, params.settings, back="../../index.html")
        with whole_file(folder / f"{participant}.html") as temporary:
            temporary.write_text(page, encoding="utf-8")
