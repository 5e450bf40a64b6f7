"""A federation simulated on one machine, with the workflow's data of all sites."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from notears_pfl.federated.federated_study import Federation
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.io.atomic import whole_file

# Far wider than the estimator needs: a simulation does not represent a hospital's own limits.
RANGES = {"lambda": [0.0, 100.0], "kappa": [0.0, 100.0], "rho": [1e-6, 1e6]}
CENTRE = "localhost"


def simulated_federation(
    sites: Sequence[str],
    groups: Sequence[str],
    rois: Sequence[str],
    scale: str,
    estimator: Mapping[str, Any],
) -> Federation:
    """Federation of simulated sites on this machine, with short waiting times."""
    return Federation(
        name="simulation",
        host=CENTRE,
        port=8002,
        sites=tuple(sites),
        groups=tuple(groups),
        rois=tuple(rois),
        scale=scale,
        estimator=dict(estimator),
        answer_s=120.0,
        patience_s=0.0,
        without="stop",
        minimum_sites=2,
    )


def write_site_files(
    federation: Federation, cohort: str, series: str, minimum_subjects: int, out: Path
) -> str:
    """Write the file of every site; return their path with {site} in place of the name.

    Each site keeps its ledger and statement in its own folder beside its file.
    """
    for site in federation.sites:
        content = {
            "centre": CENTRE,
            "participants": str(Path(cohort).resolve()),
            "series": str(Path(series).resolve()),
            "records": site,
            "allow": {
                "groups": list(federation.groups),
                "rois": list(federation.rois),
                "scales": [federation.scale],
                "minimum_subjects": minimum_subjects,
                "minimum_fold_subjects": 0,
                **RANGES,
                "messages": list(KINDS),
            },
        }
        # Delete earlier records: a simulation documents one run only.
        for path in (out / "sites" / site).glob("*"):
            path.unlink()
        with whole_file(out / f"sites/{site}.yaml") as temporary:
            temporary.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return str((out / "sites").resolve() / "{site}.yaml")


def largest_differences(
    federated: Mapping[tuple[str, str], pd.DataFrame],
    pooled: Mapping[tuple[str, str], pd.DataFrame],
) -> pd.DataFrame:
    """Compare networks by group and site: numbers of edges and largest difference in weight."""
    rows = []
    for (group, site), network in federated.items():
        other = pooled[group, site]
        difference = network.to_numpy() - other.loc[network.index, network.columns].to_numpy()
        edges = int(np.count_nonzero(network)), int(np.count_nonzero(other))
        rows.append((group, site, *edges, float(np.abs(difference).max())))
    columns = ["group", "site", "edges_federated", "edges_one_machine", "largest_difference"]
    return pd.DataFrame(rows, columns=columns)
