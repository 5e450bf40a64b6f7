"""Rules ``fit_networks…``: one network per site for a group, learned jointly."""

from notears_pfl.cohort.samples import site_samples
from notears_pfl.io.networks import plain, read_discovery_series, write_network
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_table
from notears_pfl.model.estimator import NotearsPFL

with rule_log(snakemake.log[0]):
    params, group = snakemake.params, snakemake.wildcards.group
    cohort = read_table(snakemake.input.cohort)
    paths = dict(zip(params.participants, snakemake.input.series, strict=True))
    series = read_discovery_series(cohort, group, paths, params.rois)
    samples = {site: site_samples(series[site], params.scale) for site in params.sites}
    x = [samples[site].x for site in params.sites]

    fit = NotearsPFL(**params.estimator).fit(x)
    reverse = NotearsPFL(**params.estimator).fit(x[::-1])

    report = {
        "Group": group,
        "Scale": params.scale,
        "SiteOrder": params.sites,
        "EdgesChangedByReverseSiteOrder": int((fit.adjacency_ != reverse.adjacency_[::-1]).sum()),
        "Settings": fit.get_params(),
        "Parameters": fit.parameters_,
        "Converged": fit.converged_,
        "Certificate": fit.certificate_,
    }
    for site, weights, parameters, path in zip(
        params.sites, fit.weights_, fit.site_parameters_, snakemake.output.networks, strict=True
    ):
        sources = [paths[name] for name in series[site]]
        own = {
            "Site": site,
            "Parameters": parameters,
            "Subjects": samples[site].n_subjects,
            "Samples": len(samples[site].x),
            "EffectiveSamples": samples[site].n_effective,
        }
        write_network(weights, params.rois, plain({**report, **own, "Sources": sources}), path)
    details = {"Candidates": fit.candidates_, "Rounds": fit.n_rounds_, "History": fit.history_}
    write_json(plain({**report, **details}), snakemake.output.report)
