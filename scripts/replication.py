"""Rule ``replication``: the connections of the discovery set in the validation set."""

import numpy as np

from notears_pfl.analysis.replication import replicated_edges, replication_summary
from notears_pfl.evidence.replication import replicate, validation_fit
from notears_pfl.evidence.subjects import subjects_from
from notears_pfl.io.arrays import read_arrays
from notears_pfl.io.networks import read_networks, with_parameters
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table
from notears_pfl.seeds import stream

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    arrays = read_arrays(inputs.moments, table="S")
    halves = [subjects_from(arrays, discovery=half) for half in (True, False)]
    networks = read_networks(inputs.networks, params.group_sites)
    found = {}
    for group, fit, is_patient in zip(params.groups, inputs.fits, (True, False), strict=True):
        edges = np.stack([networks[group, site].to_numpy() != 0 for site in params.sites])
        first, second = (half.moments.summed(half.patients == is_patient) for half in halves)
        again = validation_fit(second, with_parameters(params.estimator, fit))
        rng = stream(params.seed, "evidence", "replication", group)
        found[group] = edges, first[0], replicate((first[0], edges), second, again, rng)
    table = replicated_edges(found, params.sites, params.rois)
    write_table(table, output.edges, index=False)
    write_table(replication_summary(table, found, params.sites), output.summary, index=False)
