"""Rules ``pooled_fit…``: both groups together, for λ and κ of both and for draws to start from."""

from notears_pfl.cohort.samples import site_samples
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_discovery_series, write_pooled_fit
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table
from notears_pfl.model.estimator import NotearsPFL

with rule_log(snakemake.log[0]):
    params = snakemake.params
    cohort = read_table(snakemake.input.cohort)
    paths = ListedFiles(snakemake.input.series, "series", params.participants)
    series = read_discovery_series(cohort, None, paths, params.rois)
    samples = {site: site_samples(series[site], params.scale) for site in params.sites}
    fit = NotearsPFL(**params.estimator).fit(
        [samples[site].x for site in params.sites],
        subjects=[samples[site].subjects for site in params.sites],
        runs=[samples[site].runs for site in params.sites],
    )
    sites = {
        site: {"Subjects": own.n_subjects, "EffectiveSamples": own.n_effective}
        for site, own in samples.items()
    }
    write_pooled_fit(fit, params.rois, sites, snakemake.output.report, scale=params.scale)
