"""Rule ``weight_draws``: difference of every weight between groups, and under permuted labels."""

from dataclasses import asdict
from time import process_time

from notears_pfl.evidence.labels import share_of_one
from notears_pfl.evidence.permutation import contrast_draws
from notears_pfl.evidence.pooled import compared_connections, resumed
from notears_pfl.evidence.significance import weight_test
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
    draws = contrast_draws(
        subjects.moments, subjects.labels, tested, params.permutations, params.smallest, params.seed
    )
    cost = 1000 * (process_time() - began) / (1 + params.permutations)
    print(f"{params.permutations} permutations of weights, {cost:.2f} CPU ms each")
    share = share_of_one(subjects.patients, subjects.labels.blocks)
    tests = asdict(weight_test(*draws))
    write_arrays({"tested": tested, "share_of_one": share, **tests}, snakemake.output.draws)
