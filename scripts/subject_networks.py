"""Rule ``subject_networks``: the weights of every network's edges in its single subjects."""

import numpy as np

from notears_pfl.analysis.weight_regression import subject_weight_table
from notears_pfl.evidence.subject_weights import subject_weights
from notears_pfl.evidence.subjects import moments_from
from notears_pfl.io.arrays import read_arrays
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    params, arrays = snakemake.params, read_arrays(snakemake.input.moments, table="S")
    networks = read_networks(snakemake.input.networks, params.group_sites)
    splits = np.where(arrays["discovery"], "discovery", "validation")
    for (group, site), path in zip(params.group_sites, snakemake.output.weights, strict=True):
        network = networks[group, site]
        edges = network.where(network.abs() > params.edge_threshold, 0.0)
        own = arrays["patients"] == (group == params.groups[0])
        own &= arrays["site"] == params.sites.index(site)
        found = subject_weights(moments_from(arrays, own), edges.to_numpy() != 0)
        names = arrays["participant_id"][own]
        write_table(subject_weight_table(names, splits[own], *found, edges), path, index=False)
