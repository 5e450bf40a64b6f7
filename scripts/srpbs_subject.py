"""Rule ``srpbs_subject``: subjects of the SRPBS release in BIDS."""

from pathlib import Path

from notears_pfl.acquisition import scanner_sidecar
from notears_pfl.io.batches import Batch
from notears_pfl.io.failures import mark_failure, naming
from notears_pfl.io.images import compress, read_bare_image, write_image
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.study.srpbs_to_bids import ordered_volumes, run_sidecar, stacked

with rule_log(snakemake.log[0]):
    site = snakemake.params.site
    for subject in Batch.of(snakemake).unfinished():
        output, folder = subject.output, Path(subject.input.volumes)
        protocol = subject.params.protocol
        compress(subject.input.t1w, output.t1w)
        write_json(scanner_sidecar(site), output.t1w_json)
        with mark_failure(output.bold_json, [output.bold]), naming(folder):
            names = ordered_volumes([path.name for path in folder.iterdir()])
            volumes = [read_bare_image(folder / name) for name in names]
            run = stacked([v.data for v in volumes], [v.affine for v in volumes])
            affine, tr = volumes[0].affine, protocol["RepetitionTime"]
            sidecar = run_sidecar(site, protocol, run.shape[2], affine)
            write_image(run, affine, output.bold, repetition_time=tr)
            write_json(sidecar, output.bold_json)
