"""Rule ``brain_template``: the MNI152 brain, its tissues and mask, and a head with skull."""

import numpy as np

from notears_pfl.io.images import read_image, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template

with rule_log(snakemake.log[0]):
    template = load_template(snakemake.params.resolution_mm)
    tissues = np.stack([template.grey, template.white], axis=-1)
    write_image(template.t1w.astype(np.float32), template.affine, snakemake.output.t1w)
    write_image(tissues.astype(np.float32), template.affine, snakemake.output.tissues)
    write_image(template.brain, template.affine, snakemake.output.brain)
    stored = read_image(HEAD_TEMPLATE)
    head = head_template(stored.data, stored.affine, template)
    write_image(head.t1w, head.affine, snakemake.output.head_t1w)
    write_image(head.depth_mm, head.affine, snakemake.output.head_depth)
