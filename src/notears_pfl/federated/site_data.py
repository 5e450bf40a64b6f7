"""Load a site's samples from the workflow's tables; the samples never leave the site."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from notears_pfl.cohort.samples import Samples, site_samples
from notears_pfl.federated.privacy import Noise, cached_moments
from notears_pfl.federated.run_records import refuse_changed_release, run_without_noise
from notears_pfl.federated.site_rules import RefusedError, SiteRules
from notears_pfl.io.atomic import one_at_a_time
from notears_pfl.io.networks import check_cohort, read_discovery_series
from notears_pfl.io.series_files import series_path
from notears_pfl.io.tables import read_table
from notears_pfl.model.checks import checked_samples
from notears_pfl.model.federation import Site, folds_of, site_from_samples
from notears_pfl.model.problem import Array, Moments, second_moments
from notears_pfl.model.selection import n_folds

Series = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class LoadedSite:
    """A site ready to answer, and the counts that it reports to the centre."""

    site: Site
    counts: dict[str, Any]


def load_site(rules: SiteRules, site: str, plan: Mapping[str, Any]) -> LoadedSite:
    """Load the site's discovery subjects of the planned group, or refuse.

    Samples are centred and scaled as in a fit on one machine (``cohort.samples``). The site
    offers folds only if every held-out fold also has enough subjects.
    """
    cohort = read_table(rules.participants)
    check_cohort(cohort, rules.participants)
    here = cohort[cohort["site"] == site]
    paths = {name: str(series_path(rules.series, name)) for name in here["participant_id"]}
    series = read_discovery_series(here, plan["group"], paths, plan["rois"]).get(site, {})
    rules.check_subjects(len(series))
    samples = site_samples(series, plan["scale"])
    demean = plan["estimator"].get("center", True)
    if not isinstance(demean, bool):
        msg = f"the estimator's 'center' must be true or false; found {demean!r}."
        raise RefusedError(msg)
    (x,) = checked_samples([samples.x], demean=demean)
    counts = {
        "subjects": samples.n_subjects,
        "samples": len(x),
        "effective_samples": samples.n_effective,
    }
    # Look up earlier releases and record this one under one lock. Otherwise two concurrent runs
    # would both find no release, and noise drawn twice can be averaged out.
    with one_at_a_time(rules.records):
        if rules.noise is None:
            exact = _exact_site(rules, plan, series, samples, x, demean)
            return LoadedSite(exact, {**counts, "noise": None})
        # The site gets no samples and cannot cross-validate: folds would exceed ε and δ.
        U = _private_moments(rules, rules.noise, plan, series)
    private = {**counts, "effective_samples": None, "noise": asdict(rules.noise)}
    return LoadedSite(Site(Moments(U, len(x))), private)


def _exact_site(
    rules: SiteRules, plan: Mapping[str, Any], series: Series, samples: Samples, x: Array,
    demean: bool,
) -> Site:  # fmt: skip
    """Site without noise, with folds if these are large enough."""
    release = _release(plan, [table.to_numpy(dtype=float) for table in series.values()])
    refuse_changed_release(rules.records, plan["group"], release)
    whole = site_from_samples(x, demean=demean, subjects=samples.subjects, runs=samples.runs)
    described = whole.describe()
    if subjects_per_fold(samples.subjects, n_folds([described])) >= rules.minimum_fold_subjects:
        return whole
    return Site(second_moments(x, demean=demean), n_effective=described.n_effective)


def _private_moments(
    rules: SiteRules, noise: Noise, plan: Mapping[str, Any], series: Series
) -> Array:
    """Second moments with noise; refuses if exact ones were sent before."""
    if run := run_without_noise(rules.records, plan["group"]):
        msg = (
            f"in run {run} this site sent results of group {plan['group']!r} without noise, so "
            "noise no longer protects the group. Fit without noise, or leave the group out."
        )
        raise RefusedError(msg)
    # Each subject has the same weight, however long its series, which bounds one subject's effect.
    # A fit without noise weights by volumes instead; the two agree if all series are equally long.
    parts = [site_samples({name: table}, plan["scale"]).x for name, table in series.items()]
    path = rules.records / f"group-{plan['group']}_moments.npz"
    return cached_moments(parts, noise, _release(plan, parts), path)


def subjects_per_fold(subjects: npt.NDArray[np.intp], folds: int) -> float:
    """Count the subjects in the smallest fold, given whose volume each row is.

    The number is the fold's length divided by the longest share of one subject, so that one long
    series with a few short ones does not count as a group.
    """
    parts = [subjects[rows] for rows in folds_of(len(subjects), folds, subjects)]
    return min(len(part) / int(np.bincount(part).max()) for part in parts)


def _release(plan: Mapping[str, Any], parts: Sequence[Array]) -> str:
    """Identify a release by its group, ROIs, scale and a digest of its data."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes())
    return json.dumps([plan["group"], plan["rois"], plan["scale"], digest.hexdigest()])
