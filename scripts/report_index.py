"""Rule ``report_index``: the report of the study on one page."""

import os

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.report import study_page
from notears_pfl.report.sections.run_provenance import provenance_record

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    findings = study_page.read_findings(inputs, params)
    set_aside = study_page.read_shown_subjects(inputs, params, findings)
    extras = study_page.read_extras([*inputs.comparison, *params.extras], params.settings)
    command = os.environ.get("NOTEARS_PFL_COMMAND", "")
    series = ListedFiles(inputs.series, "series", params.participants).values()
    origin = study_page.read_origin(command, [*inputs.study, *series], "logs")
    figures = [*inputs.figures, *inputs.networks_drawn, *extras.pictures]
    pictures = study_page.embed_figures(figures, findings)
    page = study_page.study_page(findings, pictures, extras, origin, set_aside)
    study_page.write_parts(page, output.tables)
    with whole_file(output.page) as temporary:
        temporary.write_text(page.text, encoding="utf-8")
    with whole_file(output.checksums) as temporary:
        lines = [f"{digest}  {path}\n" for path, digest in origin.checksums.items()]
        temporary.write_text("".join(lines), encoding="utf-8")
    write_json(provenance_record(findings, origin), output.provenance)
