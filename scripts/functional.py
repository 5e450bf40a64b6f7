"""Rule ``functional``: from raw volumes to the raw signals of all ROIs in MNI space."""

import pandas as pd

from notears_pfl.acquisition import MOTION
from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, read_report
from notears_pfl.io.images import read_image, write_arrays
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import read_sidecar, write_json
from notears_pfl.io.tables import write_table
from notears_pfl.preproc.cautions import T1W_FIGURES, with_cautions
from notears_pfl.preproc.engines.program import program_names
from notears_pfl.preproc.nuisance import ACOMPCOR, COMPONENTS
from notears_pfl.preproc.pictures import coregistration_slices
from notears_pfl.preproc.run import (
    FUNCTIONAL_PROGRAMS,
    normalised_space,
    preprocess_run,
    read_tissues,
    run_methods,
    run_options,
)
from notears_pfl.preproc.smooth import smooth_options, smoother
from notears_pfl.roi.extract import roi_methods, roi_signals

params = snakemake.params
with rule_log(snakemake.log[0]):
    for subject in Batch.of(snakemake).unfinished():
        paths, output = subject.input, subject.output
        with mark_failure(output.report, output.but("report")):
            anatomy, atlas = read_report(paths.anatomy), read_image(paths.labels)
            run, tr = preprocess_run(dict(paths), anatomy["normalisation_affine"], params.preproc)
            smoothing, regions = smooth_options(params.preproc), (atlas.data, atlas.affine)
            smooth, points = smoother(smoothing, run.grid.voxel_mm), run.grid.points()
            means, coverage, dropout = roi_signals(run, points, regions, len(params.rois), smooth)

            write_table(pd.DataFrame(means, columns=params.rois), output.series, index=False)
            write_table(
                pd.DataFrame(run.motion.parameters, columns=MOTION), output.motion, index=False
            )
            write_table(
                run.volume_figures().join(run.tissue_signals()), output.confounds, index=False
            )
            slices = coregistration_slices(
                run.mean, run.affine, run.coregistration.matrix, *read_tissues(paths.tissues)
            )
            write_arrays(slices, output.picture)
            names = program_names(params.preproc["engine"], FUNCTIONAL_PROGRAMS)
            figures = run.figures()
            methods = run_methods(run_options(params.preproc), smoothing, figures, names)
            space = normalised_space(anatomy["engines"]["normalise"])
            described = read_sidecar(paths.atlas)
            methods |= roi_methods(described["name"], described["space"], space)
            report = {
                "status": "ok",
                "sources": [paths.bold, *paths.sidecar, paths.xfm, paths.labels],
                "space": space,
                "repetition_time": tr,
                **figures,
                "confounds": {ACOMPCOR: {"columns": sum(COMPONENTS.values(), ())}},
                **{name: anatomy[name] for name in T1W_FIGURES if name in anatomy},
                "cautions": with_cautions(anatomy)["cautions"],
                "coverage": dict(zip(params.rois, coverage.tolist(), strict=True)),
                "dropout": dict(zip(params.rois, dropout.tolist(), strict=True)),
                "engines": {**anatomy["engines"], **params.preproc["engine"]},
                "methods": {**anatomy["methods"], **methods},
            }
            write_json(with_cautions(report), output.report)
