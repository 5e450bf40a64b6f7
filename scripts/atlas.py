"""Rule ``atlas``: the parcellation with codes in the order of the ROI table."""

from notears_pfl.io.failures import naming
from notears_pfl.io.fingerprint import file_digest
from notears_pfl.io.images import read_volume, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.roi.atlas import check_digest, describe_atlas, order_regions

params, path = snakemake.params, snakemake.input.image
with rule_log(snakemake.log[0]):
    atlas, sha256 = read_volume(path), file_digest(path)
    with naming(path):
        check_digest(sha256, params.sha256)
        labels, offsets_mm = order_regions(
            atlas.data, atlas.affine, params.rois, params.coordinates,
            params.description["family"], params.codes,
        )  # fmt: skip
    write_image(labels, atlas.affine, snakemake.output.labels)
    description = describe_atlas(params.atlas, params.description, params.rois, offsets_mm, sha256)
    write_json(description, snakemake.output.report)
