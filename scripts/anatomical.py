"""Rule ``anatomical``: a subject's brain, tissues and the way to the template."""

import numpy as np

from notears_pfl.io.arrays import write_arrays
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.preproc.anatomical import prepare_anatomy
from notears_pfl.preproc.cautions import with_cautions
from notears_pfl.preproc.choice import anatomical_engines
from notears_pfl.preproc.methods import anatomical_methods, with_programs
from notears_pfl.preproc.options import NormaliseOptions
from notears_pfl.preproc.pictures import normalisation_slices
from notears_pfl.preproc.warp import BrainTemplate

paths, output = snakemake.input, snakemake.output
with (
    rule_log(snakemake.log[0]),
    mark_failure(output.report, [p for p in output if p != output.report]),
):
    t1w = read_volume(paths.t1w, oriented=True)
    template_t1w = read_image(paths.template_t1w)
    grey, white = np.moveaxis(read_image(paths.template_tissues).data, -1, 0)
    brain = read_image(paths.template_brain).data > 0
    template = BrainTemplate(template_t1w.data, grey, white, brain, template_t1w.affine)
    options = NormaliseOptions()

    with naming(paths.t1w), anatomical_engines(snakemake.params.engine) as steps:
        anatomy = prepare_anatomy(t1w.data, t1w.affine, template, options, steps)

    scaled = np.rint(255 * np.moveaxis(anatomy.tissues, 0, -1)).astype(np.uint8)
    write_image(anatomy.t1w, t1w.affine, output.t1w, compact=True)
    write_image(anatomy.brain, t1w.affine, output.brain)
    write_image(scaled, anatomy.grid.affine, output.tissues)
    write_image(
        anatomy.normalisation.displacement,
        anatomy.normalisation.grid.affine,
        output.xfm,
        vectors=True,
    )
    brain_only = anatomy.t1w * anatomy.brain
    slices = normalisation_slices(brain_only, t1w.affine, anatomy.normalisation, template)
    write_arrays(slices, output.picture)
    stripped, was_nan = (anatomy.quality[k] for k in ("already_stripped", "background_was_nan"))
    engine = snakemake.params.engine | ({"brain": "own"} if stripped else {})
    methods = with_programs(anatomical_methods(options, stripped, was_nan), engine)
    report = {"status": "ok", "sources": [paths.t1w], **anatomy.quality, "methods": methods}
    report |= {"engines": engine, "normalisation_affine": anatomy.normalisation.affine.tolist()}
    write_json(with_cautions(report), output.report)
