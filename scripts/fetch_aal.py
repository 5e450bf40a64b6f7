"""Rule ``fetch_aal``: the AAL image, through nilearn."""

import shutil

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.rulelog import rule_log
from notears_pfl.roi.atlas import check_names, fetch_aal

params = snakemake.params
with rule_log(snakemake.log[0]):
    image, labels = fetch_aal()
    check_names(labels, params.aal_codes, params.aal_names)
    with whole_file(snakemake.output.image) as temporary:
        shutil.copyfile(image, temporary)
