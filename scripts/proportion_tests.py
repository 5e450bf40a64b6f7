"""Rule ``proportion_tests``: every connection and method over all draws, edges met, and cost."""

import pandas as pd

from notears_pfl.analysis.comparison import (
    Design,
    cost_per_network,
    draws_note,
    proportion_tests,
)
from notears_pfl.analysis.presence import connection_presence
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.provenance import write_record
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.seeds import stream

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    networks, edges, cost = (
        pd.concat(map(read_table, paths), ignore_index=True)
        for paths in (inputs.networks, inputs.edges, inputs.cost)
    )
    connections = read_table(inputs.connections)
    presence = connection_presence(networks, edges, connections)
    labels = read_table(inputs.cohort).set_index("participant_id")["group"]
    tests = proportion_tests(
        presence,
        connections,
        read_table(inputs.draws),
        labels,
        Design(params.groups, params.sites, params.presence, params.permutations),
        stream(params.seed, "permutation"),
    )
    tests["note"] = draws_note(read_table(inputs.sites))
    write_table(tests, output.tests, index=False)
    write_table(networks, output.edges, index=False)
    write_table(cost_per_network(cost), output.cost, index=False)
    series = ListedFiles(inputs.series, "series", params.participants)
    sources = [inputs.cohort, *inputs.sources, *series.values()]
    write_record(params.settings, sources, output.record, params.columns)
