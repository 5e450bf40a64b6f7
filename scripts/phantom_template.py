"""Rule ``phantom_template``: the head and the surrogate parcellation in template space."""

from notears_pfl.io.images import write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.phantom.head import TEMPLATE_MM, template_head
from notears_pfl.preproc.template import load_template

with rule_log(snakemake.log[0]):
    template = load_template(TEMPLATE_MM)
    head = template_head(
        **vars(template), coordinates=snakemake.params.coordinates, **snakemake.params.parcellation
    )
    write_image(head.t1w, head.affine, snakemake.output.t1w)
    write_image(head.bold, head.affine, snakemake.output.bold)
    write_image(head.brain, head.affine, snakemake.output.brain)
    write_image(head.labels, head.affine, snakemake.output.labels)
