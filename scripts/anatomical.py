"""Rule ``anatomical``: brain, tissues and registration to the template of subjects."""

import numpy as np

from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.images import read_image, read_volume, write_arrays, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.preproc.anatomy import ANATOMICAL_PROGRAMS, anatomical_methods, prepare_anatomy
from notears_pfl.preproc.cautions import with_cautions
from notears_pfl.preproc.engines.program import program_names, programs_for
from notears_pfl.preproc.normalise import WARP_STEP_MM, NormaliseOptions
from notears_pfl.preproc.pictures import brain_slices, normalisation_slices
from notears_pfl.preproc.template import BrainTemplate, HeadTemplate

with rule_log(snakemake.log[0]):
    shared, options = snakemake.input, NormaliseOptions()
    template_t1w = read_image(shared.template_t1w)
    grey, white = np.moveaxis(read_image(shared.template_tissues).data, -1, 0)
    brain = read_image(shared.template_brain).data > 0
    template = BrainTemplate(template_t1w.data, grey, white, brain, template_t1w.affine)
    head_t1w, depth = read_image(shared.head_t1w), read_image(shared.head_depth)
    head = HeadTemplate(head_t1w.data, depth.data, depth.affine)

    for subject in Batch.of(snakemake).unfinished():
        path, output, engine = subject.input.t1w, subject.output, snakemake.params.engine
        with mark_failure(output.report, output.but("report")):
            t1w = read_volume(path, oriented=True)
            with naming(path), programs_for(engine, ANATOMICAL_PROGRAMS) as programs:
                anatomy = prepare_anatomy(t1w.data, t1w.affine, template, head, options, programs)

            scaled = np.rint(255 * np.moveaxis(anatomy.tissues, 0, -1)).astype(np.uint8)
            warp = anatomy.normalisation
            write_image(anatomy.t1w, anatomy.affine, output.t1w, step=anatomy.grey_step())
            write_image(anatomy.brain, anatomy.affine, output.brain)
            write_image(scaled, anatomy.grid.affine, output.tissues)
            in_steps = {"vectors": True, "step": WARP_STEP_MM}
            write_image(warp.displacement, warp.grid.affine, output.xfm, **in_steps)
            in_t1w = (anatomy.affine, anatomy.brain, anatomy.tissues, anatomy.grid)
            write_arrays(brain_slices(anatomy.t1w, *in_t1w), output.brain_picture)
            brain_only = anatomy.t1w * anatomy.brain
            slices = normalisation_slices(brain_only, anatomy.affine, warp, template)
            write_arrays(slices, output.picture)
            engine = engine | ({"brain": "own"} if anatomy.quality["already_stripped"] else {})
            names = program_names(engine, ANATOMICAL_PROGRAMS)
            methods = anatomical_methods(options, anatomy.quality, names)
            report = {"status": "ok", "sources": [path], **anatomy.quality, "methods": methods}
            report |= {"SkullStripped": bool(anatomy.quality["already_stripped"])}
            report |= {"engines": engine, "normalisation_affine": warp.affine.tolist()}
            write_json(with_cautions(report), output.report)
