"""Rule ``bootstrap_draws``: networks of resampled subjects, some draws per job."""

from dataclasses import asdict
from time import process_time

from notears_pfl.evidence.bootstrap import bootstrap_draws
from notears_pfl.evidence.pooled import resumed
from notears_pfl.evidence.subjects import subjects_from
from notears_pfl.io.arrays import read_arrays, write_arrays
from notears_pfl.io.networks import read_start
from notears_pfl.io.rulelog import rule_log

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    subjects = subjects_from(read_arrays(inputs.moments, table="S"), discovery=True)
    pooled, *own = (
        resumed(*read_start(path, params.rois, params.sites))
        for path in (inputs.pooled, *inputs.fits)
    )
    began = process_time()
    draws = bootstrap_draws(
        pooled, own, subjects.moments, subjects.patients, params.draws, params.seed
    )
    cost = (process_time() - began) / len(params.draws)
    print(f"{len(params.draws)} bootstraps, {cost:.3f} CPU s each")
    write_arrays(asdict(draws), snakemake.output.draws)
