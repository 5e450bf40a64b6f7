"""Rule ``clean_bold``: the smoothed and cleaned image in MNI space, voxel by voxel."""

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, read_report
from notears_pfl.io.images import write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_table
from notears_pfl.preproc.clean import plan_cleaning
from notears_pfl.preproc.run import preprocess_run
from notears_pfl.preproc.smooth import smooth_options

params = snakemake.params
with rule_log(snakemake.log[0]):
    paths, output = Batch.of(snakemake).only().input, snakemake.output
    with mark_failure(output.report, [output.bold]):
        anatomy, report = read_report(paths.anatomy), read_report(paths.report)
        run, tr = preprocess_run(dict(paths), anatomy["normalisation_affine"], params.preproc)
        motion, confounds = read_table(paths.motion), read_table(paths.confounds)
        cleaning = plan_cleaning(motion, confounds, tr, params.preproc, report.pop("confounds"))

        image = run.image(cleaning.apply(run.smoothed(smooth_options(params.preproc))))

        write_image(image, run.grid.affine, output.bold, repetition_time=tr)
        report["methods"] |= cleaning.methods()
        report |= cleaning.figures()
        write_json(report, output.report)
