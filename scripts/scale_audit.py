"""Rule ``scale_audit``: how far the directions rest on the scale of the data."""

from notears_pfl.analysis.scale_audit import scale_audit
from notears_pfl.cohort.samples import site_samples
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_discovery_series, read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.lazy import Lazy

with rule_log(snakemake.log[0]):
    params, inputs = snakemake.params, snakemake.input
    cohort = read_table(inputs.cohort)
    paths = ListedFiles(inputs.series, "series", params.participants)
    series = {
        group: read_discovery_series(cohort, group, paths, params.rois) for group in params.groups
    }
    samples = Lazy(
        params.group_sites, lambda of: site_samples(series[of[0]][of[1]], params.scale).x
    )
    networks, other = (
        read_networks(p, params.group_sites) for p in (inputs.networks, inputs.other)
    )
    audit = scale_audit(samples, networks, other, params.edge_threshold, params.sort_threshold)
    write_table(audit, snakemake.output.table, index=False)
