"""Rule ``phantom_figure``: the phantom cohort at a glance."""

from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.images import read_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.phantom_truth import phantom_figure, sagittal_slice

with rule_log(snakemake.log[0]):
    inputs, params = snakemake.input, snakemake.params
    t1ws, runs, motion = (
        ListedFiles(inputs.scans, file, params.subjects) for file in ("t1w", "bold", "motion")
    )
    first = params.subjects[0]
    t1w, bolds = read_image(t1ws[first]), [read_image(path) for path in runs.values()]
    scans = [
        sagittal_slice(bold.data[..., bold.data.shape[-1] // 2], bold.affine) for bold in bolds
    ]
    figure = phantom_figure(
        anatomy=sagittal_slice(t1w.data, t1w.affine),
        scans=dict(zip(params.titles, scans, strict=True)),
        edges=read_table(inputs.edges),
        rois=params.rois,
        groups=params.groups,
        motion=read_table(motion[first]),
        brightness=bolds[0].data.mean(axis=(0, 1, 2)),
        repetition_time=params.repetition_time,
        subject=first,
    )
    save_figure(figure, snakemake.output.png, snakemake.output.svg)
