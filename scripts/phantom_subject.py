"""Rule ``phantom_subject``: T1w and BOLD images of subjects in BIDS, and the truth beside them."""

from functools import partial

import pandas as pd

from notears_pfl.acquisition import MOTION, scanner_sidecar
from notears_pfl.io.batches import Batch
from notears_pfl.io.images import read_image, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_relmat, write_table
from notears_pfl.phantom.cohort import bold_sidecar, site_protocol
from notears_pfl.phantom.head import Head, field_affine
from notears_pfl.phantom.scan import SubjectOptions, scan_subject, truth_sidecar
from notears_pfl.phantom.scanner import site_gain
from notears_pfl.phantom.true_networks import over_all_regions
from notears_pfl.seeds import stream

with rule_log(snakemake.log[0]):
    params, batch = snakemake.params, Batch.of(snakemake)
    names = ("t1w", "bold", "brain", "labels")
    images = {name: read_image(snakemake.input[f"template_{name}"]) for name in names}
    template = Head(**{name: i.data for name, i in images.items()}, affine=images["t1w"].affine)
    protocol = site_protocol(params.site, params.spatial_reduction)
    options = SubjectOptions.from_settings(params.settings)
    gain = site_gain(stream(params.seed, "gain", params.site["site"]), options.scanner)

    for subject in batch.unfinished():
        output, name = subject.output, subject.name.removeprefix("sub-")
        network = over_all_regions(read_relmat(subject.input.network), params.rois)
        draw = partial(stream, params.seed, "subject", name)

        scan = scan_subject(draw, template, network.to_numpy(), protocol, gain, options)

        tr = protocol.repetition_time
        write_image(scan.t1w, scan.t1w_affine, output.t1w)
        write_json(scanner_sidecar(params.site), output.t1w_json)
        write_image(scan.bold, scan.bold_affine, output.bold, repetition_time=tr)
        write_json(bold_sidecar(params.site, protocol), output.bold_json)
        write_image(scan.brain, scan.t1w_affine, output.brain)
        write_image(scan.field, field_affine(), output.field, vectors=True)
        write_table(pd.DataFrame(scan.motion, columns=MOTION), output.motion, index=False)
        write_table(pd.DataFrame(scan.series, columns=params.rois), output.series, index=False)
        write_json(truth_sidecar(scan, gain, params.rois), output.truth)
