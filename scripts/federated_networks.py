"""Rule ``federated_networks``: one network per site and group, fitted in NVFLARE's simulator."""

from pathlib import Path

from notears_pfl.federated import require_nvflare
from notears_pfl.federated.simulated_federation import simulated_federation, write_site_files
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import with_parameters
from notears_pfl.io.rulelog import rule_log

with rule_log(snakemake.log[0]):
    require_nvflare()
    from notears_pfl.federated.engine import simulate

    params = snakemake.params
    out = Path(snakemake.output.networks[0]).parent
    estimator = with_parameters(params.estimator, snakemake.input.pooled)
    federation = simulated_federation(
        params.sites, params.groups, params.rois, params.scale, estimator
    )
    files = ListedFiles(snakemake.input.series, "series", params.participants)
    paths = [*files.values()]
    series = paths[0].replace(params.participants[0], "{participant_id}")
    site_files = write_site_files(
        federation, snakemake.input.cohort, series, params.minimum_subjects, out
    )
    simulate(federation, site_files, out)
