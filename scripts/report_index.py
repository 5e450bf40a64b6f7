"""Rule ``report_index``: the report of the study, one page with everything in it."""

import os

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.fingerprint import file_digest
from notears_pfl.io.rulelog import rule_log
from notears_pfl.report.figure_texts import embed_figures
from notears_pfl.report.findings import read_findings
from notears_pfl.report.sections.provenance import Origin, read_benchmarks
from notears_pfl.report.study_page import read_extras, study_page

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    findings = read_findings(inputs, params)
    extras = read_extras(params.extras, params.settings)
    origin = Origin(
        command=os.environ.get("NOTEARS_PFL_COMMAND", ""),
        checksums={path: file_digest(path) for path in [*inputs.study, *inputs.series]},
        benchmarks=read_benchmarks("logs"),
    )
    pictures = embed_figures([*inputs.figures, *inputs.networks_drawn, *extras.pictures], findings)
    with whole_file(output.page) as temporary:
        temporary.write_text(study_page(findings, pictures, extras, origin), encoding="utf-8")
    with whole_file(output.checksums) as temporary:
        lines = [f"{digest}  {path}\n" for path, digest in origin.checksums.items()]
        temporary.write_text("".join(lines), encoding="utf-8")
