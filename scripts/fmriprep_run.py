"""Rule ``fmriprep_run``: from fMRIPrep's run in MNI space to the raw signals of all ROIs."""

import pandas as pd

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.images import read_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import check_header, read_sidecar, read_timing, write_json
from notears_pfl.io.tables import read_confounds, write_table
from notears_pfl.preproc.cautions import with_cautions
from notears_pfl.preproc.fmriprep import (
    NUMBERS,
    fmriprep_methods,
    prepare_fmriprep_run,
)
from notears_pfl.preproc.nilearn_strategies import chosen_confounds
from notears_pfl.preproc.smooth import smooth_options, smoother
from notears_pfl.roi.extract import roi_methods, roi_signals

params = snakemake.params
with rule_log(snakemake.log[0]):
    for subject in Batch.of(snakemake).unfinished():
        paths, output = subject.input, subject.output
        with mark_failure(output.report, output.but("report")):
            timing, dropped = (
                read_timing(paths.sidecar, slices=False),
                params.preproc["drop_volumes"],
            )
            tr = timing.repetition_time
            bold = read_image(paths.bold, oriented=True)
            check_header(bold.repetition_time, paths.bold, tr, paths.sidecar)
            brain, atlas = read_image(paths.brain), read_image(paths.labels)
            confounds = read_confounds(paths.confounds, NUMBERS)
            mask = (brain.data, brain.affine)
            with naming(f"{paths.bold} and {paths.confounds}"):
                run = prepare_fmriprep_run(bold.data, bold.affine, tr, confounds, mask, dropped)
            smoothing, regions = smooth_options(params.preproc), (atlas.data, atlas.affine)
            smooth, points = smoother(smoothing, run.grid.voxel_mm), run.grid.points()
            means, coverage, dropout = roi_signals(run, points, regions, len(params.rois), smooth)

            write_table(pd.DataFrame(means, columns=params.rois), output.series, index=False)
            write_table(run.motion, output.motion, index=False)
            write_table(run.all_confounds(), output.confounds, index=False)
            methods = fmriprep_methods(params.space, dropped, smoothing, run.figures()["voxel_mm"])
            described = read_sidecar(paths.atlas)
            methods |= roi_methods(described["name"], described["space"], params.space)
            report = {
                "status": "ok",
                "sources": [
                    paths.bold,
                    *paths.sidecar,
                    paths.confounds,
                    *paths.confounds_json,
                    paths.labels,
                ],
                "space": params.space,
                "repetition_time": tr,
                **run.figures(),
                "confounds": chosen_confounds(paths.confounds, dropped),
                "coverage": dict(zip(params.rois, coverage.tolist(), strict=True)),
                "dropout": dict(zip(params.rois, dropout.tolist(), strict=True)),
                "engines": {"normalised": "fmriprep"},
                "methods": methods,
            }
            write_json(with_cautions(report), output.report)
