"""Rule ``permutation_draws``: networks of permuted labels, some draws per job."""

from dataclasses import asdict
from time import process_time

from notears_pfl.evidence.permutation import permutation_draws
from notears_pfl.evidence.pooled import compared_connections, resumed
from notears_pfl.evidence.subjects import subjects_from
from notears_pfl.io.arrays import read_arrays, write_arrays
from notears_pfl.io.networks import read_start
from notears_pfl.io.rulelog import rule_log

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    subjects = subjects_from(read_arrays(inputs.moments, table="S"), discovery=True)
    start = resumed(*read_start(inputs.pooled, params.rois, params.sites))
    tested = compared_connections(start, subjects.moments)
    began = process_time()
    draws = permutation_draws(
        start, subjects.moments, subjects.labels, tested, params.draws, params.subsamples,
        params.seed,
    )  # fmt: skip
    cost = (process_time() - began) / len(params.draws)
    print(f"{len(params.draws)} permutations, {cost:.3f} CPU s each")
    write_arrays(asdict(draws), snakemake.output.draws)
