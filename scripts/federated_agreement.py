"""Rule ``federated_agreement``: compare the federated networks with those of one machine."""

from notears_pfl.federated.simulated_federation import largest_differences
from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import write_table

with rule_log(snakemake.log[0]):
    group_sites = snakemake.params.group_sites
    federated = read_networks(snakemake.input.federated, group_sites)
    pooled = read_networks(snakemake.input.pooled, group_sites)
    table = largest_differences(federated, pooled)
    write_table(table, snakemake.output.table, index=False)
