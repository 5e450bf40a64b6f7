"""What a site brings: samples from the workflow's tables, which stay where they are."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from notears_pfl.cohort.samples import site_samples
from notears_pfl.federated.privacy import cached_moments
from notears_pfl.federated.rules import RefusedError, SiteRules
from notears_pfl.io.networks import read_discovery_series
from notears_pfl.io.series_files import series_path
from notears_pfl.io.tables import read_table
from notears_pfl.model.checks import checked_samples
from notears_pfl.model.local import Moments, Site, site_from_samples


@dataclass(frozen=True)
class Brought:
    """A site that answers, and what the centre is told of its data."""

    site: Site
    counts: dict[str, Any]


def bring_samples(rules: SiteRules, site: str, plan: Mapping[str, Any]) -> Brought:
    """Read the discovery subjects of the plan's group at this site, or refuse.

    Samples are centred and scaled as for a fit on one machine (``cohort.samples``).
    """
    cohort = read_table(rules.participants)
    paths = {name: str(series_path(rules.series, name)) for name in cohort["participant_id"]}
    here = cohort[cohort["site"] == site]
    series = read_discovery_series(here, plan["group"], paths, plan["rois"]).get(site, {})
    rules.check_subjects(len(series))
    samples = site_samples(series, plan["scale"])
    center = plan["estimator"].get("center", True)
    if not isinstance(center, bool):
        msg = f"the estimator's 'center' must be true or false; found {center!r}."
        raise RefusedError(msg)
    (x,) = checked_samples([samples.x], center)
    counts = {
        "subjects": samples.n_subjects,
        "samples": len(x),
        "effective_samples": samples.n_effective,
    }
    if rules.noise is None:
        return Brought(site_from_samples(x, center), {**counts, "noise": None})
    # Series are centred per subject, so the moments of the whole are the mean of the subjects'.
    parts = [site_samples({name: table}, plan["scale"]).x for name, table in series.items()]
    release = json.dumps([plan["group"], plan["rois"], plan["scale"], _digest(parts)])
    path = rules.records / f"group-{plan['group']}_moments.npz"
    U = cached_moments(parts, rules.noise, release, path)
    # Without samples the site cannot cross-validate: folds would be looks beyond ε and δ.
    private = {**counts, "effective_samples": None, "noise": asdict(rules.noise)}
    return Brought(Site(Moments(U, len(x))), private)


def _digest(parts: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes())
    return digest.hexdigest()
