"""What a squared loss needs of a site: the second moment U = xᵀx/n and the number of samples n."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from notears_pfl.errors import InputError
from notears_pfl.model.checks import checked_moments, checked_samples
from notears_pfl.model.local import Moments, second_moments
from notears_pfl.model.types import Array

# A site's samples of shape (n, d), or its moments (U, n).
Site: TypeAlias = Array | tuple[Array, int]


def sites_moments(sites: Sequence[Site], *, center: bool) -> list[Moments]:
    """Moments of every site: those given as ``(U, n)``, or those of the samples."""
    given = [site for site in sites if isinstance(site, tuple)]
    samples = [site for site in sites if not isinstance(site, tuple)]
    if given and samples:
        msg = (
            f"sites must all be samples or all be moments (U, n); found {len(samples)} and "
            f"{len(given)}. Compute U = x.T @ x / n where samples are given."
        )
        raise InputError(msg)
    if given:
        return [Moments(U, n) for U, n in checked_moments(given)]
    arrays = checked_samples(samples, center)
    return [second_moments(x - x.mean(axis=0) if center else x) for x in arrays]


def pooled(moments: Sequence[Moments]) -> Moments:
    """Moments of all samples as one data set: U = Σ n_k U^k / Σ n_k."""
    n = sum(m.n for m in moments)
    return Moments(np.sum([m.n / n * m.U for m in moments], axis=0), n)
