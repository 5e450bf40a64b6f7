"""Rules ``fit_networks…``: one network per site for a group, learned jointly."""

from pathlib import Path

from notears_pfl.cohort.samples import site_samples
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_discovery_series, with_parameters, write_fit
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.model.estimator import NotearsPFL, edges_changed_by_reverse_order

with rule_log(snakemake.log[0]):
    params, group = snakemake.params, snakemake.wildcards.group
    cohort = read_table(snakemake.input.cohort)
    paths = ListedFiles(snakemake.input.series, "series", params.participants)
    series = read_discovery_series(cohort, group, paths, params.rois)
    samples = {site: site_samples(series[site], params.scale) for site in params.sites}
    x = [samples[site].x for site in params.sites]

    subjects = [samples[site].subjects for site in params.sites]
    estimator = with_parameters(params.estimator, snakemake.input.pooled)
    runs = [samples[site].runs for site in params.sites]
    fit = NotearsPFL(**estimator).fit(x, subjects=subjects, runs=runs)

    sites = {
        site: {
            "Subjects": samples[site].n_subjects,
            "Samples": len(samples[site].x),
            "EffectiveSamples": samples[site].n_effective,
            "Sources": [paths[name] for name in series[site]],
        }
        for site in params.sites
    }
    write_fit(
        fit,
        group,
        params.rois,
        sites,
        Path(snakemake.output.report).parent,
        scale=params.scale,
        about={"EdgesChangedByReverseSiteOrder": edges_changed_by_reverse_order(fit, x)},
    )
