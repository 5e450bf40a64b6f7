"""Rule ``clean_bold``: the smoothed and cleaned image in MNI space, voxel by voxel."""

from notears_pfl.io.failures import read_report
from notears_pfl.io.images import write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_table
from notears_pfl.preproc.confounds import confound_design
from notears_pfl.preproc.methods import clean_methods
from notears_pfl.preproc.style import clean_options, smooth_options
from notears_pfl.preproc.subject import read_run

paths, params = snakemake.input, snakemake.params
with rule_log(snakemake.log[0]):
    anatomy, report = read_report(paths.anatomy), read_report(paths.report)
    run, tr = read_run(dict(paths), anatomy["normalisation_affine"], params.preproc)
    settings, options = params.preproc["clean"], clean_options(params.preproc)
    motion, confounds = read_table(paths.motion), read_table(paths.confounds)
    design = confound_design(motion, confounds, settings["motion"], settings["tissues"])

    cleaned = run.cleaned(smooth_options(params.preproc), design.to_numpy(), tr, options)

    write_image(cleaned, run.grid.affine, snakemake.output.bold, repetition_time=tr)
    report["methods"] |= clean_methods(options, design.columns.tolist())
    write_json(report, snakemake.output.report)
