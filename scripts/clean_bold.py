"""Rule ``clean_bold``: the smoothed and cleaned image in MNI space, voxel by voxel."""

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import read_report
from notears_pfl.io.images import write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_table
from notears_pfl.preproc.clean import (
    clean_methods,
    clean_options,
    clean_signals,
    confound_design,
)
from notears_pfl.preproc.run import preprocess_run
from notears_pfl.preproc.smooth import smooth_options

params = snakemake.params
with rule_log(snakemake.log[0]):
    paths = Batch.of(snakemake).only().input
    anatomy, report = read_report(paths.anatomy), read_report(paths.report)
    run, tr = preprocess_run(dict(paths), anatomy["normalisation_affine"], params.preproc)
    settings, options = params.preproc["clean"], clean_options(params.preproc)
    motion, confounds = read_table(paths.motion), read_table(paths.confounds)
    design = confound_design(motion, confounds, settings["motion"], settings["tissues"])

    smoothed = run.smoothed(smooth_options(params.preproc))
    image = run.image(clean_signals(smoothed, design.to_numpy(), tr, options))

    write_image(image, run.grid.affine, snakemake.output.bold, repetition_time=tr)
    report["methods"] |= clean_methods(options, design.columns.tolist())
    write_json(report, snakemake.output.report)
